"""For the demo and the tests: the sandbox as a child process, and what observers and foreign clients of its clusters do."""
