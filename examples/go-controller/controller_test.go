package gocontroller

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// An API server alone, as envtest always is: the pod is created, and no kubelet runs it.
func TestCreatesThePod(t *testing.T) {
	c := startManager(t, &envtest.Environment{})
	createConfig(t, c, "alone")

	pod := eventually(t, c, "alone", func(pod *corev1.Pod) bool { return true })
	if owner := metav1.GetControllerOf(pod); owner == nil || owner.Name != "alone" {
		t.Errorf("the pod is owned by %v", owner)
	}
	config := eventually(t, c, "alone", func(config *corev1.ConfigMap) bool { return config.Annotations[PhaseAnnotation] != "" })
	if phase := config.Annotations[PhaseAnnotation]; phase != "Pending" {
		t.Errorf("the phase is %q", phase)
	}
}

// With controllers and a kubelet, which the real assets do not have: the pod runs, and goes with its owner.
func TestSeesThePodRun(t *testing.T) {
	environment := &envtest.Environment{}
	environment.ControlPlane.GetAPIServer().Configure().
		Append("kubestage-node", "true").
		Disable("disable-admission-plugins") // the controllers make the accounts
	c := startManager(t, environment)
	createConfig(t, c, "running")

	config := eventually(t, c, "running", func(config *corev1.ConfigMap) bool {
		return config.Annotations[PhaseAnnotation] == "Running"
	})
	pod := eventually(t, c, "running", func(pod *corev1.Pod) bool { return pod.Status.PodIP != "" })
	if err := c.Delete(context.Background(), config); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the pod to go with its owner", func() bool {
		return apierrors.IsNotFound(c.Get(context.Background(), client.ObjectKeyFromObject(pod), &corev1.Pod{}))
	})
}

// Webhooks are asked before anything is stored: the environment points them to the manager's own server.
func TestWebhooksAreAsked(t *testing.T) {
	environment := &envtest.Environment{}
	environment.WebhookInstallOptions.Paths = []string{"webhooks.yaml"}
	c := startManager(t, environment)

	config := newConfig("plain", nil)
	waitFor(t, "the webhook to listen", func() bool { return c.Create(context.Background(), config) == nil })
	if colour := config.Data["COLOUR"]; colour != "grey" {
		t.Errorf("the colour is %q", colour)
	}
	err := c.Create(context.Background(), newConfig("bad", map[string]string{"not-a-name": "x"}))
	const why = `admission webhook "variables.example.com" denied the request: "not-a-name" is no name for a variable`
	if !apierrors.IsForbidden(err) || err.Error() != why {
		t.Errorf("it is refused: %v", err)
	}
}

// A user with no rights has none.
func TestUsersAreTheirOwn(t *testing.T) {
	environment := &envtest.Environment{}
	startEnvironment(t, environment)
	user, err := environment.AddUser(envtest.User{Name: "jane", Groups: []string{"developers"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(user.Config(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.List(context.Background(), &corev1.SecretList{}); !apierrors.IsForbidden(err) {
		t.Errorf("jane may list secrets: %v", err)
	}
}

func startEnvironment(t *testing.T, environment *envtest.Environment) *rest.Config {
	t.Helper()
	ctrl.SetLogger(zap.New(zap.UseDevMode(true)))
	started := time.Now()
	config, err := environment.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("environment started in %v", time.Since(started).Round(time.Millisecond))
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			t.Error(err)
		}
	})
	return config
}

func startManager(t *testing.T, environment *envtest.Environment) client.Client {
	t.Helper()
	config := startEnvironment(t, environment)
	skipNameValidation := true
	options := ctrl.Options{Metrics: server.Options{BindAddress: "0"}}
	options.Controller.SkipNameValidation = &skipNameValidation
	install := environment.WebhookInstallOptions
	options.WebhookServer = webhook.NewServer(webhook.Options{
		Host: install.LocalServingHost, Port: install.LocalServingPort, CertDir: install.LocalServingCertDir,
	})
	manager, err := ctrl.NewManager(config, options)
	if err != nil {
		t.Fatal(err)
	}
	if err := (&Reconciler{Client: manager.GetClient()}).SetupWithManager(manager); err != nil {
		t.Fatal(err)
	}
	if len(install.Paths) > 0 {
		if err := (Webhook{}).SetupWithManager(manager); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- manager.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func createConfig(t *testing.T, c client.Client, name string) {
	t.Helper()
	if err := c.Create(context.Background(), newConfig(name, map[string]string{"COLOUR": "blue"})); err != nil {
		t.Fatal(err)
	}
}

func newConfig(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{"run": "true"}},
		Data:       data,
	}
}

// Waits until the object of that name and type is as wanted.
func eventually[T any, Object interface {
	*T
	client.Object
}](t *testing.T, c client.Client, name string, wanted func(Object) bool) Object {
	t.Helper()
	object := Object(new(T))
	waitFor(t, name, func() bool {
		return c.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: name}, object) == nil && wanted(object)
	})
	return object
}

func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !condition(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}
