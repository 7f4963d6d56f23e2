package clients

import (
	"bytes"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/client-go/util/exec"
)

func TestExec(t *testing.T) {
	client := clientset(t)
	space := namespace(t)
	runPod(t, client, space, shell("talker", "trap 'exit 0' TERM; while :; do sleep 0.05; done"))
	config := config(t)
	options := &corev1.PodExecOptions{
		Command: []string{"sh", "-c", "cat; echo oops >&2; exit 3"}, Stdin: true, Stdout: true, Stderr: true,
	}
	url := client.CoreV1().RESTClient().Post().Resource("pods").Namespace(space).Name("talker").
		SubResource("exec").VersionedParams(options, scheme.ParameterCodec).URL()
	overSpdy, err := remotecommand.NewSPDYExecutor(config, "POST", url)
	must(t, err)
	overWebSocket, err := remotecommand.NewWebSocketExecutor(config, "GET", url.String())
	must(t, err)
	for name, executor := range map[string]remotecommand.Executor{"SPDY": overSpdy, "WebSocket": overWebSocket} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			err := executor.StreamWithContext(ctx, remotecommand.StreamOptions{
				Stdin: strings.NewReader("into it"), Stdout: &stdout, Stderr: &stderr,
			})
			equal(t, "stdout", stdout.String(), "into it")
			equal(t, "stderr", stderr.String(), "oops\n")
			exit, isExit := err.(utilexec.CodeExitError)
			if !isExit {
				t.Fatalf("no exit code: %v", err)
			}
			equal(t, "exit code", exit.Code, 3)
		})
	}
}
