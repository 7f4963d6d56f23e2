package clients

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/openapi3"
	"k8s.io/client-go/restmapper"
)

func TestDiscovery(t *testing.T) {
	client, err := discovery.NewDiscoveryClientForConfig(config(t))
	must(t, err)

	version, err := client.ServerVersion()
	must(t, err)
	equal(t, "version", version.Major+"."+version.Minor, "1.36")

	groups, resources, err := client.ServerGroupsAndResources()
	must(t, err)
	var plain []string
	for _, group := range groups {
		for _, version := range group.Versions {
			plain = append(plain, version.GroupVersion)
		}
	}
	equal(t, "lists of resources", len(resources), len(plain))

	client.UseLegacyDiscovery = true
	_, unaggregated, err := client.ServerGroupsAndResources()
	must(t, err)
	equal(t, "the same without aggregation", count(unaggregated), count(resources))
	client.UseLegacyDiscovery = false

	preferred, err := client.ServerPreferredResources()
	must(t, err)
	for _, list := range preferred {
		if len(list.APIResources) > 0 && strings.HasPrefix(list.GroupVersion, "autoscaling/") {
			equal(t, "preferred version", list.GroupVersion, "autoscaling/v2")
		}
	}

	mapper := restmapper.NewShortcutExpander(
		restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client)), client, nil)
	for short, want := range map[string]string{
		"po": "pods", "svc": "services", "deploy": "deployments", "cm": "configmaps", "crd": "customresourcedefinitions",
	} {
		found, err := mapper.ResourceFor(schema.GroupVersionResource{Resource: short})
		must(t, err)
		equal(t, short, found.Resource, want)
	}
	mapping, err := mapper.RESTMapping(schema.GroupKind{Group: "apps", Kind: "Deployment"})
	must(t, err)
	equal(t, "mapping", mapping.Resource.String(), "apps/v1, Resource=deployments")

	document, err := client.OpenAPISchema()
	must(t, err)
	if len(document.Definitions.AdditionalProperties) < 500 {
		t.Fatalf("only %d definitions", len(document.Definitions.AdditionalProperties))
	}
	for _, definition := range document.Definitions.AdditionalProperties {
		if definition.Name != "io.k8s.api.core.v1.PodSpec" {
			continue
		}
		for _, property := range definition.Value.Properties.AdditionalProperties {
			if property.Name == "containers" {
				equal(t, "items", property.Value.Items.Schema[0].XRef, "#/definitions/io.k8s.api.core.v1.Container")
				equal(t, "extensions", len(property.Value.VendorExtension), 4)
			}
		}
	}
	root := openapi3.NewRoot(client.OpenAPIV3())
	spec, err := root.GVSpec(schema.GroupVersion{Group: "apps", Version: "v1"})
	must(t, err)
	if spec.Components.Schemas["io.k8s.api.apps.v1.Deployment"] == nil {
		t.Fatal("no schema of deployments")
	}
}

func count(lists []*metav1.APIResourceList) int {
	sum := 0
	for _, list := range lists {
		sum += len(list.APIResources)
	}
	return sum
}
