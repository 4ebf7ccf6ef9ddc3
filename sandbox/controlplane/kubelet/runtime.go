// Copyright: (c) 2026, equinix_metal.openshift contributors
// GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"k8s.io/client-go/tools/remotecommand"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-client/pkg/fake"
	"k8s.io/cri-client/pkg/util"
	"k8s.io/kubelet/pkg/cri/streaming"
	utilexec "k8s.io/utils/exec"
)

// machineImage is the image of containers that are processes, with the file system of the machine. So are those of images whose entry point
// is in the folder entryPoints, by the name of the image: a program kube-vip for registry.test/kube-vip:v1. Those of all other images are
// only remembered, by Kubernetes' fake runtime.
const machineImage = "localhost/machine"

var entryPoints = os.Getenv("SANDBOX_ENTRY_POINTS")

// programs are the folders of programs that processes have beside those of the machine.
var programs = os.Getenv("SANDBOX_PROGRAMS")

type processes struct {
	*fake.RemoteRuntime
	streams streaming.Server
	lock    sync.Mutex
	known   map[string]*process
}

type process struct {
	config *runtimeapi.ContainerConfig
	words  []string // of its command
	log    string
	leader int           // of its process group; 0 before it has started
	ended  chan struct{} // closed when it has
}

func startRuntime(endpoint string) error {
	r := &processes{RemoteRuntime: fake.NewFakeRemoteRuntime(), known: map[string]*process{}}
	r.RuntimeService.FakeStatus = &runtimeapi.RuntimeStatus{Conditions: []*runtimeapi.RuntimeCondition{
		{Type: runtimeapi.RuntimeReady, Status: true},
		{Type: runtimeapi.NetworkReady, Status: true},
	}}
	// The eviction manager asks how full the images' file system is, and complains every 10 seconds when nothing says so.
	images := []*runtimeapi.FilesystemUsage{{
		FsId:       &runtimeapi.FilesystemIdentifier{Mountpoint: "/"},
		UsedBytes:  &runtimeapi.UInt64Value{Value: 1 << 30},
		InodesUsed: &runtimeapi.UInt64Value{Value: 1 << 10},
	}}
	// One without a size cannot be inspected.
	r.ImageService.SetFakeImageSize(1)
	r.ImageService.SetFakeFilesystemUsage(images)
	r.ImageService.SetFakeContainerFilesystemUsage(images)
	listener, err := util.CreateListener(endpoint)
	if err != nil {
		return err
	}
	config := streaming.DefaultConfig
	config.Addr = "127.0.0.1:0"
	if r.streams, err = streaming.NewServer(config, streamed{r}); err != nil {
		return err
	}
	go func() { fmt.Fprintln(os.Stderr, "streams of containers:", r.streams.Start(true)) }()
	server := grpc.NewServer()
	runtimeapi.RegisterRuntimeServiceServer(server, r)
	runtimeapi.RegisterImageServiceServer(server, r)
	go func() { fmt.Fprintln(os.Stderr, "container runtime:", server.Serve(listener)) }()
	return nil
}

func (r *processes) find(id string) *process {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.known[id]
}

// RunPodSandbox remembers a pod. One in the network of the machine has its address, which the kubelet knows.
func (r *processes) RunPodSandbox(ctx context.Context, request *runtimeapi.RunPodSandboxRequest) (*runtimeapi.RunPodSandboxResponse, error) {
	made, err := r.RemoteRuntime.RunPodSandbox(ctx, request)
	if err == nil && request.Config.GetLinux().GetSecurityContext().GetNamespaceOptions().GetNetwork() == runtimeapi.NamespaceMode_NODE {
		r.RuntimeService.Lock()
		defer r.RuntimeService.Unlock()
		r.RuntimeService.Sandboxes[made.PodSandboxId].Network.Ip = ""
	}
	return made, err
}

// CreateContainer remembers a container.
func (r *processes) CreateContainer(ctx context.Context, request *runtimeapi.CreateContainerRequest) (*runtimeapi.CreateContainerResponse, error) {
	made, err := r.RemoteRuntime.CreateContainer(ctx, request)
	if err != nil {
		return nil, err
	}
	log := filepath.Join(request.SandboxConfig.LogDirectory, request.Config.LogPath)
	if _, err := (logged{log, "stdout"}).Write(nil); err != nil {
		return nil, err
	}
	r.RuntimeService.Lock()
	// The kubelet deletes all files of its working directory with a container that has no log.
	r.RuntimeService.Containers[made.ContainerId].LogPath = log
	r.RuntimeService.Unlock()
	if words := wordsOf(request.Config); len(words) > 0 {
		r.lock.Lock()
		r.known[made.ContainerId] = &process{config: request.Config, words: words, log: log, ended: make(chan struct{})}
		r.lock.Unlock()
	}
	return made, nil
}

// wordsOf returns the command of a container that is a process.
func wordsOf(config *runtimeapi.ContainerConfig) []string {
	image, command := config.GetImage().GetUserSpecifiedImage(), config.Command
	if image != machineImage {
		name := strings.FieldsFunc(path.Base(image), func(sign rune) bool { return sign == ':' || sign == '@' })[0]
		entryPoint := filepath.Join(entryPoints, name)
		if _, err := os.Stat(entryPoint); entryPoints == "" || err != nil {
			return nil
		}
		if len(command) == 0 {
			command = []string{entryPoint}
		}
	}
	return append(append([]string{}, command...), config.Args...)
}

// StartContainer starts the command of a container.
func (r *processes) StartContainer(ctx context.Context, request *runtimeapi.StartContainerRequest) (*runtimeapi.StartContainerResponse, error) {
	started, err := r.RemoteRuntime.StartContainer(ctx, request)
	p := r.find(request.ContainerId)
	if err != nil || p == nil {
		return started, err
	}
	command := p.command(context.Background(), p.words)
	command.Stdout, command.Stderr = logged{p.log, "stdout"}, logged{p.log, "stderr"}
	if err := command.Start(); err != nil {
		r.ended(request.ContainerId, p, 127)
		return nil, err
	}
	r.lock.Lock()
	p.leader = command.Process.Pid
	r.lock.Unlock()
	go func() { r.ended(request.ContainerId, p, exitCode(command.Wait())) }()
	return started, nil
}

func (r *processes) ended(id string, p *process, code int32) {
	r.RuntimeService.Lock()
	defer r.RuntimeService.Unlock()
	if c := r.RuntimeService.Containers[id]; c != nil {
		c.State, c.FinishedAt, c.ExitCode, c.Reason = runtimeapi.ContainerState_CONTAINER_EXITED, time.Now().UnixNano(), code, "Completed"
		if code != 0 {
			c.Reason = "Error"
		}
	}
	close(p.ended)
}

// StopContainer ends a process: SIGTERM, and SIGKILL after the grace period.
func (r *processes) StopContainer(ctx context.Context, request *runtimeapi.StopContainerRequest) (*runtimeapi.StopContainerResponse, error) {
	p := r.find(request.ContainerId)
	if p == nil {
		return r.RemoteRuntime.StopContainer(ctx, request)
	}
	r.end(p, time.Duration(request.Timeout)*time.Second)
	return &runtimeapi.StopContainerResponse{}, nil
}

// RemoveContainer forgets a container, after its end.
func (r *processes) RemoveContainer(ctx context.Context, request *runtimeapi.RemoveContainerRequest) (*runtimeapi.RemoveContainerResponse, error) {
	if p := r.find(request.ContainerId); p != nil {
		r.end(p, 0)
		r.lock.Lock()
		delete(r.known, request.ContainerId)
		r.lock.Unlock()
	}
	return r.RemoteRuntime.RemoveContainer(ctx, request)
}

func (r *processes) end(p *process, grace time.Duration) {
	r.lock.Lock()
	leader := p.leader
	r.lock.Unlock()
	if leader == 0 {
		return
	}
	syscall.Kill(-leader, syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(grace):
		syscall.Kill(-leader, syscall.SIGKILL)
		<-p.ended
	}
}

// ExecSync runs a command in a container, as exec probes do.
func (r *processes) ExecSync(ctx context.Context, request *runtimeapi.ExecSyncRequest) (*runtimeapi.ExecSyncResponse, error) {
	p := r.find(request.ContainerId)
	if p == nil {
		return r.RemoteRuntime.ExecSync(ctx, request)
	}
	if request.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(request.Timeout)*time.Second)
		defer cancel()
	}
	var stdout, stderr bytes.Buffer
	command := p.command(ctx, request.Cmd)
	command.Stdout, command.Stderr = &stdout, &stderr
	code := exitCode(command.Run())
	return &runtimeapi.ExecSyncResponse{Stdout: stdout.Bytes(), Stderr: stderr.Bytes(), ExitCode: code}, ctx.Err()
}

// Exec returns the address at which the kubelet runs a command in a container.
func (r *processes) Exec(_ context.Context, request *runtimeapi.ExecRequest) (*runtimeapi.ExecResponse, error) {
	return r.streams.GetExec(request)
}

func (p *process) command(ctx context.Context, words []string) *exec.Cmd {
	environment := []string{"PATH=" + programs + ":/usr/sbin:/usr/bin"}
	for _, variable := range p.config.Envs {
		environment = append(environment, variable.Key+"="+variable.Value)
	}
	// A shell looks for the program in this PATH.
	command := exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", `exec "$@"`, "sh"}, words...)...)
	command.Env, command.Dir = environment, filepath.Join("/", p.config.WorkingDir)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return command
}

func exitCode(err error) int32 {
	var ended *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &ended) && ended.Exited():
		return int32(ended.ExitCode())
	default: // killed, as a shell reports it
		return 128 + int32(syscall.SIGKILL)
	}
}

// logged writes what a container writes to its log, in the format of the CRI: P is part of a line.
type logged struct{ path, stream string }

func (l logged) Write(output []byte) (int, error) {
	file, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	var lines bytes.Buffer
	for _, line := range bytes.SplitAfter(output, []byte("\n")) {
		if len(line) > 0 {
			tag, text := "P", line
			if line[len(line)-1] == '\n' {
				tag, text = "F", line[:len(line)-1]
			}
			fmt.Fprintf(&lines, "%s %s %s %s\n", time.Now().Format(time.RFC3339Nano), l.stream, tag, text)
		}
	}
	_, err = file.Write(lines.Bytes())
	return len(output), err
}

// streamed runs commands for the streaming server.
type streamed struct{ *processes }

func (s streamed) Exec(
	ctx context.Context, id string, words []string, in io.Reader, out, errors io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize,
) error {
	p := s.find(id)
	if p == nil {
		return fmt.Errorf("container %s is in memory: no command can be run in it", id)
	}
	command := p.command(ctx, words)
	command.Stdout, command.Stderr = out, errors
	if in != nil {
		pipe, err := command.StdinPipe()
		if err != nil {
			return err
		}
		// It is not waited for: a program may end before its input does.
		go func() {
			defer pipe.Close()
			io.Copy(pipe, in)
		}()
	}
	if err := command.Run(); err != nil {
		return utilexec.CodeExitError{Err: err, Code: int(exitCode(err))}
	}
	return nil
}

func (streamed) Attach(context.Context, string, io.Reader, io.WriteCloser, io.WriteCloser, bool, <-chan remotecommand.TerminalSize) error {
	return errors.New("attach is not supported: run a command instead")
}

func (streamed) PortForward(context.Context, string, int32, io.ReadWriteCloser) error {
	return errors.New("ports are not forwarded: connect to the machine instead")
}
