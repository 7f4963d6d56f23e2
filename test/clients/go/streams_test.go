package clients

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
)

// A pod that runs: its logs, and streams into it.
func TestPod(t *testing.T) {
	client := clientset(t)
	space := namespace(t)
	runPod(t, client, space, shell("talker",
		"echo first; echo second; trap 'echo last; exit 0' TERM; while :; do sleep 0.05; done"))
	t.Run("logs", func(t *testing.T) { podLogs(t, client, space) })
	t.Run("port-forward", func(t *testing.T) { podForward(t, client, space) })
	t.Run("follow to the end", func(t *testing.T) { podEnd(t, client, space) })
}

// runPod creates a pod and waits until it runs.
func runPod(t *testing.T, client *kubernetes.Clientset, space string, pod *corev1.Pod) {
	t.Helper()
	_, err := client.CoreV1().Pods(space).Create(ctx, pod, metav1.CreateOptions{})
	must(t, err)
	eventually(t, "a running pod", func() (bool, error) {
		current, err := client.CoreV1().Pods(space).Get(ctx, pod.Name, metav1.GetOptions{})
		return err == nil && current.Status.Phase == corev1.PodRunning, err
	})
}

func podLogs(t *testing.T, client *kubernetes.Clientset, space string) {
	eventually(t, "both lines", func() (bool, error) {
		text, err := client.CoreV1().Pods(space).GetLogs("talker", &corev1.PodLogOptions{}).DoRaw(ctx)
		return string(text) == "first\nsecond\n", err
	})
	lines := int64(1)
	text, err := client.CoreV1().Pods(space).GetLogs("talker", &corev1.PodLogOptions{TailLines: &lines}).DoRaw(ctx)
	must(t, err)
	equal(t, "last line", string(text), "second\n")
}

func podForward(t *testing.T, client *kubernetes.Clientset, space string) {
	web := shell("web", `exec perl -MIO::Socket::INET -e '
		$s = IO::Socket::INET->new(LocalAddr => $ENV{POD_IP}, LocalPort => 8080, Listen => 5) or die;
		$| = 1; print "ready\n"; while ($c = $s->accept) { do { $l = <$c> } until $l !~ /\S/; print $c "HTTP/1.0 200 OK\r\n\r\nhello"; close $c }'`)
	web.Spec.Containers[0].Env = []corev1.EnvVar{{
		Name: "POD_IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}},
	}}
	runPod(t, client, space, web)
	eventually(t, "a listening server", func() (bool, error) {
		text, _ := client.CoreV1().Pods(space).GetLogs("web", &corev1.PodLogOptions{}).DoRaw(ctx)
		return string(text) == "ready\n", nil
	})
	url := client.CoreV1().RESTClient().Post().Resource("pods").Namespace(space).Name("web").SubResource("portforward").URL()
	config := config(t)
	transport, upgrader, err := spdy.RoundTripperFor(config)
	must(t, err)
	overSpdy := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, "POST", url)
	overWebSocket, err := portforward.NewSPDYOverWebsocketDialer(url, config)
	must(t, err)
	for name, dialer := range map[string]httpstream.Dialer{"SPDY": overSpdy, "WebSocket": overWebSocket} {
		t.Run(name, func(t *testing.T) {
			stop, ready := make(chan struct{}), make(chan struct{})
			forwarder, err := portforward.New(dialer, []string{"0:8080"}, stop, ready, io.Discard, io.Discard)
			must(t, err)
			over := make(chan error, 1)
			go func() { over <- forwarder.ForwardPorts() }()
			select {
			case <-ready:
			case err := <-over:
				t.Fatal(err)
			}
			ports, err := forwarder.GetPorts()
			must(t, err)
			response, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/", ports[0].Local))
			must(t, err)
			body, err := io.ReadAll(response.Body)
			must(t, err)
			equal(t, "answer", string(body), "hello")
			close(stop)
			must(t, <-over)
		})
	}
}

func podEnd(t *testing.T, client *kubernetes.Clientset, space string) {
	limited, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	follow, err := client.CoreV1().Pods(space).GetLogs("talker", &corev1.PodLogOptions{Follow: true}).Stream(limited)
	must(t, err)
	watch, err := client.CoreV1().Pods(space).Watch(limited, metav1.ListOptions{FieldSelector: "metadata.name=talker"})
	must(t, err)
	defer watch.Stop()
	must(t, client.CoreV1().Pods(space).Delete(ctx, "talker", metav1.DeleteOptions{}))
	text, err := io.ReadAll(follow)
	must(t, err)
	equal(t, "log", string(text), "first\nsecond\nlast\n")
	for next(t, watch).Type != "DELETED" {
	}
}
