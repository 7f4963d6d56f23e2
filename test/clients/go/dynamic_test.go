package clients

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// A custom resource through the dynamic client, which is how most programs meet them.
func TestDynamic(t *testing.T) {
	space := namespace(t)
	group := space + ".example.com"
	installed, err := apiextensions.NewForConfig(config(t))
	must(t, err)
	definitions := installed.ApiextensionsV1().CustomResourceDefinitions()
	minimum := 1.0
	definition := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Kind: "Widget"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{
					Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
					Scale:  &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: ".spec.size", StatusReplicasPath: ".status.size"},
				},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
						"spec": {Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
							"size":  {Type: "integer", Minimum: &minimum},
							"color": {Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"red"`)}},
						}},
						"status": {Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"size": {Type: "integer"}}},
					},
				}},
			}},
		},
	}
	_, err = definitions.Create(ctx, definition, metav1.CreateOptions{})
	must(t, err)
	eventually(t, "an established definition", func() (bool, error) {
		current, err := definitions.Get(ctx, definition.Name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		for _, condition := range current.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return true, nil
			}
		}
		return false, nil
	})

	client, err := dynamic.NewForConfig(config(t))
	must(t, err)
	widgets := client.Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: "widgets"}).Namespace(space)
	widget := func(name string, size any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": group + "/v1", "kind": "Widget", "metadata": map[string]any{"name": name},
			"spec": map[string]any{"size": size, "unknown": "dropped"},
		}}
	}
	watch, err := widgets.Watch(ctx, metav1.ListOptions{})
	must(t, err)
	defer watch.Stop()
	created, err := widgets.Create(ctx, widget("a", int64(2)), metav1.CreateOptions{})
	must(t, err)
	color, _, _ := unstructured.NestedString(created.Object, "spec", "color")
	equal(t, "default", color, "red")
	_, isKept, _ := unstructured.NestedString(created.Object, "spec", "unknown")
	equal(t, "unknown field kept", isKept, false)
	_, err = widgets.Create(ctx, widget("b", int64(0)), metav1.CreateOptions{})
	refused(t, err, apierrors.IsInvalid, "spec.size in body should be greater than or equal to 1")
	_, err = widgets.Create(ctx, widget("b", "large"), metav1.CreateOptions{})
	refused(t, err, apierrors.IsInvalid, `spec.size in body must be of type integer: "string"`)

	patched, err := widgets.Patch(ctx, "a", types.MergePatchType, []byte(`{"spec":{"color":"blue"},"status":{"size":9}}`), metav1.PatchOptions{})
	must(t, err)
	if _, isThere := patched.Object["status"]; isThere {
		t.Fatal("a status was written through the object's own endpoint")
	}
	_, err = widgets.Patch(ctx, "a", types.StrategicMergePatchType, []byte(`{}`), metav1.PatchOptions{})
	refused(t, err, apierrors.IsUnsupportedMediaType)
	patched, err = widgets.Patch(ctx, "a", types.MergePatchType, []byte(`{"status":{"size":9}}`), metav1.PatchOptions{}, "status")
	must(t, err)
	scale, err := widgets.Get(ctx, "a", metav1.GetOptions{}, "scale")
	must(t, err)
	replicas, _, _ := unstructured.NestedInt64(scale.Object, "status", "replicas")
	equal(t, "scale", replicas, 9)

	unconditional := widget("a", int64(3))
	_, err = widgets.Update(ctx, unconditional, metav1.UpdateOptions{})
	refused(t, err, apierrors.IsInvalid, "metadata.resourceVersion: Invalid value: 0: must be specified for an update")
	unconditional.SetResourceVersion(patched.GetResourceVersion())
	_, err = widgets.Update(ctx, unconditional, metav1.UpdateOptions{})
	must(t, err)

	applied := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group + "/v1", "kind": "Widget", "metadata": map[string]any{"name": "a"},
		"spec": map[string]any{"size": int64(7)},
	}}
	_, err = widgets.Apply(ctx, "a", applied, metav1.ApplyOptions{FieldManager: "us"})
	refused(t, err, apierrors.IsConflict, ".spec.size")
	_, err = widgets.Apply(ctx, "a", applied, metav1.ApplyOptions{FieldManager: "us", Force: true})
	must(t, err)

	must(t, definitions.Delete(ctx, definition.Name, metav1.DeleteOptions{}))
	for next(t, watch).Type != "DELETED" {
	}
	eventually(t, "the end of the definition", func() (bool, error) {
		_, err := definitions.Get(ctx, definition.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
	_, err = widgets.List(ctx, metav1.ListOptions{})
	refused(t, err, apierrors.IsNotFound, "the server could not find the requested resource")
}
