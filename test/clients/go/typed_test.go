package clients

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
)

var ctx = context.Background()

// Both content types that a typed client speaks.
var contentTypes = map[string]string{
	"json":     runtime.ContentTypeJSON,
	"protobuf": runtime.ContentTypeProtobuf,
}

func TestTyped(t *testing.T) {
	for name, contentType := range contentTypes {
		t.Run(name, func(t *testing.T) {
			config := config(t)
			config.ContentType = contentType
			config.AcceptContentTypes = contentType + "," + runtime.ContentTypeJSON
			client, err := kubernetes.NewForConfig(config)
			must(t, err)
			for name, test := range map[string]func(*testing.T, *kubernetes.Clientset){
				"create, read, update": writes,
				"patch":                patches,
				"list and watch":       reads,
				"propagation":          propagation,
				"subresources":         subresources,
				"eviction":             eviction,
			} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					test(t, client)
				})
			}
		})
	}
}

func writes(t *testing.T, client *kubernetes.Clientset) {
	maps := client.CoreV1().ConfigMaps(namespace(t))
	created, err := maps.Create(ctx, configMap("a", nil), metav1.CreateOptions{FieldManager: "creator"})
	must(t, err)
	equal(t, "manager", created.ManagedFields[0].Manager, "creator")
	if created.UID == "" || created.ResourceVersion == "" || created.CreationTimestamp.IsZero() {
		t.Fatalf("incomplete: %+v", created.ObjectMeta)
	}
	_, err = maps.Create(ctx, configMap("a", nil), metav1.CreateOptions{})
	refused(t, err, apierrors.IsAlreadyExists, `configmaps "a" already exists`)
	_, err = maps.Get(ctx, "b", metav1.GetOptions{})
	refused(t, err, apierrors.IsNotFound, `configmaps "b" not found`)
	_, err = maps.Create(ctx, configMap("Not A Name", nil), metav1.CreateOptions{})
	refused(t, err, apierrors.IsInvalid, "metadata.name")

	stale := created.DeepCopy()
	created.Data["key"] = "changed"
	created.BinaryData = map[string][]byte{"bytes": {0, 255, 10}}
	updated, err := maps.Update(ctx, created, metav1.UpdateOptions{})
	must(t, err)
	equal(t, "bytes", string(updated.BinaryData["bytes"]), "\x00\xff\n")
	_, err = maps.Update(ctx, stale, metav1.UpdateOptions{})
	refused(t, err, apierrors.IsConflict, "please apply your changes to the latest version")
	must(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
		current, err := maps.Get(ctx, "a", metav1.GetOptions{})
		if err != nil {
			return err
		}
		current.Data["key"] = "again"
		_, err = maps.Update(ctx, current, metav1.UpdateOptions{})
		return err
	}))

	dry, err := maps.Create(ctx, configMap("dry", nil), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	must(t, err)
	if dry.UID == "" {
		t.Fatal("a dry run answers with the whole object")
	}
	_, err = maps.Get(ctx, "dry", metav1.GetOptions{})
	refused(t, err, apierrors.IsNotFound)

	generated, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "many-"}}, metav1.CreateOptions{})
	must(t, err)
	equal(t, "length of a generated name", len(generated.Name), len("many-12345"))

	wrong := types.UID("00000000-0000-4000-8000-000000000000")
	err = maps.Delete(ctx, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &wrong}})
	refused(t, err, apierrors.IsConflict, "the UID in the precondition")
	must(t, maps.Delete(ctx, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &updated.UID}}))
	refused(t, maps.Delete(ctx, "a", metav1.DeleteOptions{}), apierrors.IsNotFound)
}

func patches(t *testing.T, client *kubernetes.Clientset) {
	space := namespace(t)
	deployments := client.AppsV1().Deployments(space)
	_, err := deployments.Create(ctx, deployment("web", 0), metav1.CreateOptions{})
	must(t, err)
	for _, patch := range []struct {
		kind   types.PatchType
		body   string
		images string
	}{
		{types.JSONPatchType, `[{"op":"test","path":"/spec/replicas","value":0},{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"a:1"}]`, "a:1"},
		{types.StrategicMergePatchType, `{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"s:1"}],"$setElementOrder/containers":[{"name":"main"},{"name":"side"}]}}}}`, "a:1 s:1"},
		{types.StrategicMergePatchType, `{"spec":{"template":{"spec":{"containers":[{"name":"side","$patch":"delete"}]}}}}`, "a:1"},
		{types.MergePatchType, `{"spec":{"template":{"spec":{"containers":[{"name":"other","image":"o:1"}]}}}}`, "o:1"},
		{types.ApplyPatchType, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"template":{"spec":{"containers":[{"name":"applied","image":"p:1"}]}}}}`, "o:1 p:1"},
	} {
		options := metav1.PatchOptions{FieldManager: "patcher"}
		patched, err := deployments.Patch(ctx, "web", patch.kind, []byte(patch.body), options)
		must(t, err)
		images := ""
		for _, container := range patched.Spec.Template.Spec.Containers {
			images += " " + container.Image
		}
		equal(t, string(patch.kind), images, " "+patch.images)
	}
	_, err = deployments.Patch(ctx, "web", types.JSONPatchType, []byte(`[{"op":"test","path":"/spec/replicas","value":7}]`), metav1.PatchOptions{})
	refused(t, err, apierrors.IsInvalid, "the server rejected our request")
	_, err = deployments.Patch(ctx, "web", types.MergePatchType, []byte(`{"spec":{"replicas":-1}}`), metav1.PatchOptions{})
	refused(t, err, apierrors.IsInvalid, "spec.replicas: Invalid value: -1: must be greater than or equal to 0")
	_, err = deployments.Patch(ctx, "web", types.MergePatchType, []byte(`{"spec":{"replica":1}}`), metav1.PatchOptions{FieldValidation: "Strict"})
	refused(t, err, apierrors.IsInvalid, `unknown field "spec.replica"`)
	_, err = deployments.Patch(ctx, "none", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
	refused(t, err, apierrors.IsNotFound)
}

func reads(t *testing.T, client *kubernetes.Clientset) {
	space := namespace(t)
	maps := client.CoreV1().ConfigMaps(space)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		_, err := maps.Create(ctx, configMap(name, map[string]string{"name": name, "of": "five"}), metav1.CreateOptions{})
		must(t, err)
	}
	ours := metav1.ListOptions{LabelSelector: "of=five"}
	page, err := maps.List(ctx, metav1.ListOptions{LabelSelector: "of=five", Limit: 2})
	must(t, err)
	equal(t, "first page", names(page.Items), "a b")
	must(t, maps.Delete(ctx, "c", metav1.DeleteOptions{}))
	page, err = maps.List(ctx, metav1.ListOptions{LabelSelector: "of=five", Limit: 2, Continue: page.Continue})
	must(t, err)
	equal(t, "second page, as of the first one's time", names(page.Items), "c d")
	set, err := maps.List(ctx, metav1.ListOptions{LabelSelector: "name in (a, d),name!=e,of"})
	must(t, err)
	equal(t, "set based", names(set.Items), "a d")
	field, err := maps.List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=b"})
	must(t, err)
	equal(t, "by field", names(field.Items), "b")
	_, err = maps.List(ctx, metav1.ListOptions{FieldSelector: "data.key=x"})
	refused(t, err, apierrors.IsBadRequest, `"data.key" is not a known field selector`)

	list, err := maps.List(ctx, ours)
	must(t, err)
	since, err := maps.Watch(ctx, metav1.ListOptions{LabelSelector: "of=five", ResourceVersion: list.ResourceVersion})
	must(t, err)
	defer since.Stop()
	must(t, patchLabels(client, space, "a", `{"of":"six"}`))
	must(t, patchLabels(client, space, "b", `{"more":"yes"}`))
	must(t, patchLabels(client, space, "a", `{"of":"five"}`))
	must(t, maps.Delete(ctx, "e", metav1.DeleteOptions{}))
	seen(t, since, "DELETED a", "MODIFIED b", "ADDED a", "DELETED e")

	sendInitialEvents := true
	initial, err := maps.Watch(ctx, metav1.ListOptions{
		LabelSelector: "of=five", SendInitialEvents: &sendInitialEvents, AllowWatchBookmarks: true,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	})
	must(t, err)
	defer initial.Stop()
	seen(t, initial, "ADDED a", "ADDED b", "ADDED d")

	must(t, maps.DeleteCollection(ctx, metav1.DeleteOptions{}, ours))
	rest, err := maps.List(ctx, metav1.ListOptions{})
	must(t, err)
	equal(t, "what is left", names(rest.Items), "kube-root-ca.crt")
}

func patchLabels(client *kubernetes.Clientset, space, name, labels string) error {
	patch := []byte(`{"metadata":{"labels":` + labels + `}}`)
	_, err := client.CoreV1().ConfigMaps(space).Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	return err
}

func propagation(t *testing.T, client *kubernetes.Clientset) {
	space := namespace(t)
	maps := client.CoreV1().ConfigMaps(space)
	isGone := func(name string) func() (bool, error) {
		return func() (bool, error) {
			_, err := maps.Get(ctx, name, metav1.GetOptions{})
			return apierrors.IsNotFound(err), nil
		}
	}
	for _, policy := range []metav1.DeletionPropagation{
		metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan,
	} {
		owner, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "owner-"}}, metav1.CreateOptions{})
		must(t, err)
		yes := true
		dependent, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			GenerateName: "dependent-",
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, BlockOwnerDeletion: &yes,
			}},
		}}, metav1.CreateOptions{})
		must(t, err)
		must(t, maps.Delete(ctx, owner.Name, metav1.DeleteOptions{PropagationPolicy: &policy}))
		eventually(t, "the end of the owner", isGone(owner.Name))
		if policy != metav1.DeletePropagationOrphan {
			eventually(t, "the end of the dependent", isGone(dependent.Name))
			continue
		}
		kept, err := maps.Get(ctx, dependent.Name, metav1.GetOptions{})
		must(t, err)
		equal(t, "owners of an orphan", len(kept.OwnerReferences), 0)
	}
}

func subresources(t *testing.T, client *kubernetes.Clientset) {
	space := namespace(t)
	deployments := client.AppsV1().Deployments(space)
	created, err := deployments.Create(ctx, deployment("web", 0), metav1.CreateOptions{})
	must(t, err)
	scale, err := deployments.GetScale(ctx, "web", metav1.GetOptions{})
	must(t, err)
	equal(t, "selector", scale.Status.Selector, "app=web")
	_, err = deployments.UpdateScale(ctx, "web", &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: space}, Spec: autoscalingv1.ScaleSpec{Replicas: 3},
	}, metav1.UpdateOptions{})
	must(t, err)
	current, err := deployments.Get(ctx, "web", metav1.GetOptions{})
	must(t, err)
	equal(t, "replicas", *current.Spec.Replicas, 3)
	equal(t, "generation", current.Generation, created.Generation+1)

	nodes := client.CoreV1().Nodes()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{GenerateName: "made-up-"}, Spec: corev1.NodeSpec{Unschedulable: true}}
	node, err = nodes.Create(ctx, node, metav1.CreateOptions{})
	must(t, err)
	name := node.Name
	defer func() { must(t, nodes.Delete(ctx, name, metav1.DeleteOptions{})) }()
	must(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
		current, err := nodes.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		current.Status.Conditions = []corev1.NodeCondition{{Type: "Made", Status: corev1.ConditionTrue}}
		current.Spec.Unschedulable = false
		node, err = nodes.UpdateStatus(ctx, current, metav1.UpdateOptions{})
		return err
	}))
	equal(t, "spec after a write of the status", node.Spec.Unschedulable, true)
	equal(t, "condition", string(node.Status.Conditions[0].Type), "Made")
}

func eviction(t *testing.T, client *kubernetes.Clientset) {
	space := namespace(t)
	pods := client.CoreV1().Pods(space)
	pod := shell("victim", "exit 0")
	pod.Spec.NodeName = ""
	pod.Spec.SchedulerName = "nobody"
	_, err := pods.Create(ctx, pod, metav1.CreateOptions{})
	must(t, err)
	request := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "victim", Namespace: space}}
	dry := request.DeepCopy()
	dry.DeleteOptions = &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}
	must(t, pods.EvictV1(ctx, dry))
	_, err = pods.Get(ctx, "victim", metav1.GetOptions{})
	must(t, err)
	must(t, pods.EvictV1(ctx, request))
	_, err = pods.Get(ctx, "victim", metav1.GetOptions{})
	refused(t, err, apierrors.IsNotFound)
	refused(t, pods.EvictV1(ctx, request), apierrors.IsNotFound)
}

func deployment(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Paused:   true,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       shell(name, "sleep 1000").Spec,
			},
		},
	}
}
