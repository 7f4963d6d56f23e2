// Package gocontroller keeps a pod running for every ConfigMap that is labelled run=true, with the ConfigMap's data as its environment,
// and notes on the ConfigMap where the pod stands.
package gocontroller

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// PhaseAnnotation says on the ConfigMap what the phase of its pod is.
const PhaseAnnotation = "example.com/phase"

// Reconciler brings about what the package promises.
type Reconciler struct {
	client.Client
}

// SetupWithManager registers it for ConfigMaps and the pods that they own.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).Owns(&corev1.Pod{}).Complete(r)
}

// Reconcile looks at one ConfigMap.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var config corev1.ConfigMap
	if err := r.Get(ctx, req.NamespacedName, &config); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if config.Labels["run"] != "true" || config.DeletionTimestamp != nil {
		return ctrl.Result{}, nil
	}
	var pod corev1.Pod
	err := r.Get(ctx, req.NamespacedName, &pod)
	if apierrors.IsNotFound(err) {
		return ctrl.Result{}, r.createPod(ctx, &config)
	}
	if err != nil || config.Annotations[PhaseAnnotation] == string(pod.Status.Phase) {
		return ctrl.Result{}, err
	}
	before := client.MergeFrom(config.DeepCopy())
	metav1.SetMetaDataAnnotation(&config.ObjectMeta, PhaseAnnotation, string(pod.Status.Phase))
	return ctrl.Result{}, r.Patch(ctx, &config, before)
}

func (r *Reconciler) createPod(ctx context.Context, config *corev1.ConfigMap) error {
	container := corev1.Container{
		Name:    "main",
		Image:   "busybox",
		Command: []string{"sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.1; done"},
	}
	for _, name := range slices.Sorted(maps.Keys(config.Data)) {
		container.Env = append(container.Env, corev1.EnvVar{Name: name, Value: config.Data[name]})
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: config.Name, Namespace: config.Namespace},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{container}},
	}
	if err := controllerutil.SetControllerReference(config, pod, r.Scheme()); err != nil {
		return err
	}
	return client.IgnoreAlreadyExists(r.Create(ctx, pod))
}
