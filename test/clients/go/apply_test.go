package clients

import (
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	applyapps "k8s.io/client-go/applyconfigurations/apps/v1"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	applymeta "k8s.io/client-go/applyconfigurations/meta/v1"
	applynetworking "k8s.io/client-go/applyconfigurations/networking/v1"
)

func TestApply(t *testing.T) {
	space := namespace(t)
	deployments := clientset(t).AppsV1().Deployments(space)
	labels := map[string]string{"app": "web"}
	web := func(containers ...*applycore.ContainerApplyConfiguration) *applyapps.DeploymentApplyConfiguration {
		return applyapps.Deployment("web", space).WithSpec(applyapps.DeploymentSpec().
			WithPaused(true).
			WithSelector(applymeta.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(applycore.PodTemplateSpec().WithLabels(labels).
				WithSpec(applycore.PodSpec().WithContainers(containers...))))
	}
	one := applycore.Container().WithName("one").WithImage("one:1")
	two := applycore.Container().WithName("two").WithImage("two:1")
	alice, bob := metav1.ApplyOptions{FieldManager: "alice"}, metav1.ApplyOptions{FieldManager: "bob"}

	first, err := deployments.Apply(ctx, web(one, two), alice)
	must(t, err)
	again, err := deployments.Apply(ctx, web(one, two), alice)
	must(t, err)
	equal(t, "generation after an apply that changes nothing", again.Generation, first.Generation)

	_, err = deployments.Apply(ctx, applyapps.Deployment("web", space).WithSpec(applyapps.DeploymentSpec().
		WithTemplate(applycore.PodTemplateSpec().WithSpec(applycore.PodSpec().WithContainers(
			applycore.Container().WithName("one").WithImage("one:2"))))), bob)
	refused(t, err, apierrors.IsConflict, `conflict with "alice"`, `.spec.template.spec.containers[name="one"].image`)
	status := err.(apierrors.APIStatus).Status()
	equal(t, "cause", string(status.Details.Causes[0].Type), string(metav1.CauseTypeFieldManagerConflict))

	forced, err := deployments.Apply(ctx, applyapps.Deployment("web", space).WithSpec(applyapps.DeploymentSpec().
		WithTemplate(applycore.PodTemplateSpec().WithSpec(applycore.PodSpec().WithContainers(
			applycore.Container().WithName("one").WithImage("one:2"))))), metav1.ApplyOptions{FieldManager: "bob", Force: true})
	must(t, err)
	equal(t, "image", forced.Spec.Template.Spec.Containers[0].Image, "one:2")

	// What alice no longer names goes, unless bob owns it as well.
	less, err := deployments.Apply(ctx, web(applycore.Container().WithName("one")), alice)
	must(t, err)
	equal(t, "containers", len(less.Spec.Template.Spec.Containers), 1)
	equal(t, "image", less.Spec.Template.Spec.Containers[0].Image, "one:2")

	extracted, err := applyapps.ExtractDeployment(less, "bob")
	must(t, err)
	equal(t, "what bob owns", *extracted.Spec.Template.Spec.Containers[0].Image, "one:2")

	ingresses := clientset(t).NetworkingV1().Ingresses(space)
	_, err = ingresses.Apply(ctx, applynetworking.Ingress("web", space).WithSpec(applynetworking.IngressSpec().
		WithDefaultBackend(applynetworking.IngressBackend().WithService(applynetworking.IngressServiceBackend().
			WithName("web").WithPort(applynetworking.ServiceBackendPort().WithNumber(80))))), alice)
	must(t, err)
	applied, err := ingresses.ApplyStatus(ctx, applynetworking.Ingress("web", space).WithStatus(applynetworking.IngressStatus().
		WithLoadBalancer(applynetworking.IngressLoadBalancerStatus().
			WithIngress(applynetworking.IngressLoadBalancerIngress().WithIP("192.0.2.1")))), metav1.ApplyOptions{FieldManager: "loop"})
	must(t, err)
	equal(t, "status", applied.Status.LoadBalancer.Ingress[0].IP, "192.0.2.1")
	for _, entry := range applied.ManagedFields {
		if entry.Manager == "loop" {
			equal(t, "subresource", entry.Subresource, "status")
		}
	}
}

func TestConcurrentPatches(t *testing.T) {
	maps := clientset(t).CoreV1().ConfigMaps(namespace(t))
	_, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "shared"}}, metav1.CreateOptions{})
	must(t, err)
	const patchers = 200
	var all sync.WaitGroup
	failures := make(chan error, patchers)
	for i := range patchers {
		all.Go(func() {
			patch := fmt.Sprintf(`{"data":{"key-%d":"%d"}}`, i, i)
			if _, err := maps.Patch(ctx, "shared", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
				failures <- err
			}
		})
	}
	all.Wait()
	close(failures)
	for err := range failures {
		t.Fatal(err)
	}
	result, err := maps.Get(ctx, "shared", metav1.GetOptions{})
	must(t, err)
	equal(t, "keys", len(result.Data), patchers)
}
