package clients

import (
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// greeting is a chart of a few objects, with a hook.
func greeting() *chart.Chart {
	template := func(name, text string) *chart.File { return &chart.File{Name: "templates/" + name, Data: []byte(text)} }
	return &chart.Chart{
		Metadata: &chart.Metadata{APIVersion: "v2", Name: "greeting", Version: "1.0.0", KubeVersion: ">=1.30.0-0"},
		Values:   map[string]any{"word": "hello", "port": 80},
		Templates: []*chart.File{
			template("configmap.yaml", `
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}, labels: {app: {{ .Release.Name }}}}
data: {word: {{ .Values.word | quote }}, version: {{ .Capabilities.KubeVersion.Version | quote }}}
`),
			template("service.yaml", `
apiVersion: v1
kind: Service
metadata: {name: {{ .Release.Name }}}
spec: {selector: {app: {{ .Release.Name }}}, ports: [{port: {{ .Values.port }}}]}
`),
			template("pod.yaml", `
apiVersion: v1
kind: Pod
metadata: {name: {{ .Release.Name }}, labels: {app: {{ .Release.Name }}}}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: main, image: busybox, command: [sh, -c, "trap 'exit 0' TERM; while :; do sleep 0.05; done"]}]
`),
			{Name: "templates/hook.yaml", Data: []byte(`
{{ if .Capabilities.APIVersions.Has "batch/v1/Job" }}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-hook
  annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-delete-policy: before-hook-creation}
data: {revision: "{{ .Release.Revision }}"}
{{ end }}
`)},
		},
	}
}

func TestHelm(t *testing.T) {
	space := namespace(t)
	flags := genericclioptions.NewConfigFlags(false)
	kubeconfig := kubeconfigFile()
	flags.KubeConfig, flags.Namespace = &kubeconfig, &space
	helm := new(action.Configuration)
	must(t, helm.Init(flags, space, "secret", func(string, ...any) {}))
	maps := clientset(t).CoreV1().ConfigMaps(space)
	word := func() string {
		t.Helper()
		found, err := maps.Get(ctx, "hi", metav1.GetOptions{})
		must(t, err)
		return found.Data["word"]
	}

	install := action.NewInstall(helm)
	install.ReleaseName, install.Namespace, install.Wait, install.Timeout = "hi", space, true, time.Minute
	installed, err := install.Run(greeting(), nil)
	must(t, err)
	equal(t, "status", installed.Info.Status, release.StatusDeployed)
	equal(t, "word", word(), "hello")
	_, err = maps.Get(ctx, "hi-hook", metav1.GetOptions{})
	must(t, err)

	upgrade := action.NewUpgrade(helm)
	upgrade.Namespace, upgrade.Wait, upgrade.Timeout = space, true, time.Minute
	upgraded, err := upgrade.Run("hi", greeting(), map[string]any{"word": "good morning", "port": 8080})
	must(t, err)
	equal(t, "revision", upgraded.Version, 2)
	equal(t, "word", word(), "good morning")
	service, err := clientset(t).CoreV1().Services(space).Get(ctx, "hi", metav1.GetOptions{})
	must(t, err)
	equal(t, "port", service.Spec.Ports[0].Port, 8080)

	history, err := action.NewHistory(helm).Run("hi")
	must(t, err)
	equal(t, "history", len(history), 2)

	rollback := action.NewRollback(helm)
	rollback.Version, rollback.Wait, rollback.Timeout = 1, true, time.Minute
	must(t, rollback.Run("hi"))
	equal(t, "word", word(), "hello")

	uninstall := action.NewUninstall(helm)
	uninstall.Wait, uninstall.Timeout = true, time.Minute
	_, err = uninstall.Run("hi")
	must(t, err)
	_, err = maps.Get(ctx, "hi", metav1.GetOptions{})
	refused(t, err, apierrors.IsNotFound)
}
