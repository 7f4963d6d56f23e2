// Package clients holds programs against a running cluster, written with the libraries that Go programs use: client-go,
// controller-runtime and Helm's SDK. KUBECONFIG names the cluster.
package clients

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

func TestMain(m *testing.M) {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	os.Exit(m.Run())
}

func kubeconfigFile() string { return os.Getenv("KUBECONFIG") }

// config is the administrator's, without a limit of requests per second.
func config(t *testing.T) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfigFile())
	must(t, err)
	config.QPS = -1
	return config
}

func clientset(t *testing.T) *kubernetes.Clientset {
	t.Helper()
	client, err := kubernetes.NewForConfig(config(t))
	must(t, err)
	return client
}

// namespace is the test's own, with its default service account; it is deleted when the test ends.
func namespace(t *testing.T) string {
	t.Helper()
	client := clientset(t)
	ctx := context.Background()
	created, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "go-"},
	}, metav1.CreateOptions{})
	must(t, err)
	t.Cleanup(func() { must(t, client.CoreV1().Namespaces().Delete(ctx, created.Name, metav1.DeleteOptions{})) })
	eventually(t, "the default service account", func() (bool, error) {
		_, err := client.CoreV1().ServiceAccounts(created.Name).Get(ctx, "default", metav1.GetOptions{})
		return err == nil, nil
	})
	return created.Name
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

// refused demands an error of a kind (apierrors.IsConflict, …) whose text holds all words.
func refused(t *testing.T, err error, is func(error) bool, words ...string) {
	t.Helper()
	if err == nil || !is(err) {
		t.Fatalf("refused otherwise: %v", err)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Fatalf("%q is missing in: %v", word, err)
		}
	}
}

func eventually(t *testing.T, what string, condition func() (bool, error)) {
	t.Helper()
	err := wait.PollUntilContextTimeout(context.Background(), 20*time.Millisecond, 30*time.Second, true,
		func(context.Context) (bool, error) { return condition() })
	if err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}

// next is the next event of a watch, bookmarks left out.
func next(t *testing.T, w watch.Interface) watch.Event {
	t.Helper()
	for {
		select {
		case event, open := <-w.ResultChan():
			if !open {
				t.Fatal("the watch ended")
			}
			if event.Type != watch.Bookmark {
				return event
			}
		case <-time.After(30 * time.Second):
			t.Fatal("no event came")
		}
	}
}

// seen is what events show, e.g. "ADDED a".
func seen(t *testing.T, w watch.Interface, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		event := next(t, w)
		object, ok := event.Object.(metav1.Object)
		if !ok {
			t.Fatalf("%s of %T instead of %s", event.Type, event.Object, want)
		}
		equal(t, "event", fmt.Sprint(event.Type, " ", object.GetName()), want)
	}
}

func within(t *testing.T, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("timed out waiting for " + what)
	}
}

func configMap(name string, labels map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Data:       map[string]string{"key": "value"},
	}
}

// shell is a pod of one container that runs a script until it is told to stop.
func shell(name, script string) *corev1.Pod {
	grace := int64(1)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: &grace,
			Containers: []corev1.Container{{
				Name: "main", Image: "busybox", Command: []string{"sh", "-c", script},
			}},
		},
	}
}

func names[T any, P interface {
	*T
	metav1.Object
}](items []T) string {
	var all []string
	for i := range items {
		all = append(all, P(&items[i]).GetName())
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}
