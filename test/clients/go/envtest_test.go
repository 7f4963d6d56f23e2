package clients

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// How long envtest's own Start takes with the assets of $KUBEBUILDER_ASSETS; `npm run bench` asks.
func BenchmarkEnvtestStart(b *testing.B) {
	for range b.N {
		environment := &envtest.Environment{}
		if _, err := environment.Start(); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := environment.Stop(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
