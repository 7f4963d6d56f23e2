package clients

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func init() { ctrl.SetLogger(logr.Discard()) }

func TestControllerRuntimeClient(t *testing.T) {
	space := namespace(t)
	c, err := client.New(config(t), client.Options{})
	must(t, err)
	key := client.ObjectKey{Namespace: space, Name: "a"}
	object := configMap("a", map[string]string{"of": "us"})
	object.Namespace = space
	must(t, c.Create(ctx, object))
	refused(t, c.Create(ctx, object.DeepCopy()), func(error) bool { return true }, "resourceVersion should not be set")

	before := object.DeepCopy()
	object.Data["key"] = "merged"
	must(t, c.Patch(ctx, object, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
	before.Data["key"] = "late"
	refused(t, c.Update(ctx, before), apierrors.IsConflict)

	must(t, c.Apply(ctx, applycore.ConfigMap("a", space).WithData(map[string]string{"mine": "1"}), client.FieldOwner("us")))
	refused(t, c.Apply(ctx, applycore.ConfigMap("a", space).WithData(map[string]string{"mine": "2"}), client.FieldOwner("them")),
		apierrors.IsConflict, ".data.mine")
	must(t, c.Apply(ctx, applycore.ConfigMap("a", space).WithData(map[string]string{"mine": "2"}),
		client.FieldOwner("them"), client.ForceOwnership))

	result, err := controllerutil.CreateOrPatch(ctx, c, object, func() error { object.Data["more"] = "3"; return nil })
	must(t, err)
	equal(t, "result", result, controllerutil.OperationResultUpdated)
	must(t, c.Get(ctx, key, object))
	equal(t, "data", object.Data["key"]+object.Data["mine"]+object.Data["more"], "merged23")

	var list corev1.ConfigMapList
	must(t, c.List(ctx, &list, client.InNamespace(space), client.MatchingLabels{"of": "us"}))
	equal(t, "list", names(list.Items), "a")
	partial := &metav1.PartialObjectMetadata{}
	partial.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	must(t, c.Get(ctx, key, partial))
	equal(t, "metadata only", partial.Labels["of"], "us")

	controllerutil.AddFinalizer(object, "example.com/hold")
	must(t, c.Update(ctx, object))
	must(t, c.Delete(ctx, object, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	must(t, c.Get(ctx, key, object))
	equal(t, "marked", object.DeletionTimestamp.IsZero(), false)
	controllerutil.RemoveFinalizer(object, "example.com/hold")
	must(t, c.Update(ctx, object))
	refused(t, c.Get(ctx, key, object), apierrors.IsNotFound)
	must(t, c.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(space)))

	web := deployment("web", 0)
	web.Namespace = space
	must(t, c.Create(ctx, web))
	name := client.ObjectKeyFromObject(web)
	must(t, retry.RetryOnConflict(retry.DefaultRetry, func() error { // a control loop writes it as well
		if err := c.Get(ctx, name, web); err != nil {
			return err
		}
		web.Status.ObservedGeneration = web.Generation
		return c.Status().Update(ctx, web)
	}))
	equal(t, "status", web.Status.ObservedGeneration, 1)
}

func TestControllerRuntimeCache(t *testing.T) {
	space := namespace(t)
	all, err := cache.New(config(t), cache.Options{DefaultNamespaces: map[string]cache.Config{space: {}}})
	must(t, err)
	must(t, all.IndexField(ctx, &corev1.ConfigMap{}, "data.key", func(object client.Object) []string {
		return []string{object.(*corev1.ConfigMap).Data["key"]}
	}))
	running, stop := context.WithCancel(ctx)
	defer stop()
	go func() { _ = all.Start(running) }()
	equal(t, "synced", all.WaitForCacheSync(running), true)
	_, err = clientset(t).CoreV1().ConfigMaps(space).Create(ctx, configMap("a", nil), metav1.CreateOptions{})
	must(t, err)
	eventually(t, "the object by its index", func() (bool, error) {
		var found corev1.ConfigMapList
		err := all.List(ctx, &found, client.InNamespace(space), client.MatchingFields{"data.key": "value"})
		return len(found.Items) == 1, err
	})
}

// copier gives each config map a secret of the same name, which it owns.
type copier struct{ client.Client }

func (c *copier) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var source corev1.ConfigMap
	if err := c.Get(ctx, request.NamespacedName, &source); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	copied := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: source.Name, Namespace: source.Namespace}}
	_, err := controllerutil.CreateOrUpdate(ctx, c.Client, copied, func() error {
		copied.StringData = source.Data
		return controllerutil.SetControllerReference(&source, copied, c.Scheme())
	})
	return reconcile.Result{}, err
}

func TestControllerRuntimeManager(t *testing.T) {
	space := namespace(t)
	quickly := 3 * time.Second
	renew, retry := 2*time.Second, 200*time.Millisecond
	manager, err := ctrl.NewManager(config(t), ctrl.Options{
		Metrics:                       metrics.Options{BindAddress: "0"},
		Cache:                         cache.Options{DefaultNamespaces: map[string]cache.Config{space: {}}},
		LeaderElection:                true,
		LeaderElectionID:              "copier",
		LeaderElectionNamespace:       space,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &quickly,
		RenewDeadline:                 &renew,
		RetryPeriod:                   &retry,
	})
	must(t, err)
	must(t, ctrl.NewControllerManagedBy(manager).For(&corev1.ConfigMap{}).Owns(&corev1.Secret{}).
		Complete(&copier{manager.GetClient()}))
	running, stop := context.WithCancel(ctx)
	over := make(chan error, 1)
	go func() { over <- manager.Start(running) }()
	within(t, "the election", manager.Elected())

	client := clientset(t)
	_, err = client.CoreV1().ConfigMaps(space).Create(ctx, configMap("a", nil), metav1.CreateOptions{})
	must(t, err)
	copied := func(name string) (types.UID, error) {
		secret, err := client.CoreV1().Secrets(space).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		return secret.UID, nil
	}
	var first types.UID
	eventually(t, "the secret", func() (bool, error) { first, _ = copied("a"); return first != "", nil })
	must(t, client.CoreV1().Secrets(space).Delete(ctx, "a", metav1.DeleteOptions{}))
	eventually(t, "the secret again", func() (bool, error) {
		uid, _ := copied("a")
		return uid != "" && uid != first, nil
	})
	must(t, client.CoreV1().ConfigMaps(space).Delete(ctx, "a", metav1.DeleteOptions{}))
	eventually(t, "the secret collected", func() (bool, error) {
		_, err := copied("a")
		return apierrors.IsNotFound(err), nil
	})
	stop()
	must(t, <-over)
	lease, err := client.CoordinationV1().Leases(space).Get(ctx, "copier", metav1.GetOptions{})
	must(t, err)
	equal(t, "holder after the end", *lease.Spec.HolderIdentity, "")
}
