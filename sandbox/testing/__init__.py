"""Code for the demo and the tests: a sandbox as a child process, observers and unauthorized clients of its clusters."""
