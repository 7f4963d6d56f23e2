package gocontroller

import (
	"context"
	"fmt"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// Webhook looks at the ConfigMaps to be run before they are stored: each gets a colour, and names only what can be a variable.
// webhooks.yaml registers it.
type Webhook struct{}

// SetupWithManager serves it.
func (w Webhook) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(mgr, &corev1.ConfigMap{}).WithDefaulter(w).WithValidator(w).Complete()
}

// Default fills in what is missing.
func (Webhook) Default(_ context.Context, config *corev1.ConfigMap) error {
	if config.Data == nil {
		config.Data = map[string]string{}
	}
	if config.Data["COLOUR"] == "" {
		config.Data["COLOUR"] = "grey"
	}
	return nil
}

var variable = regexp.MustCompile(`^[A-Z_]+$`)

// ValidateCreate refuses what cannot be run.
func (Webhook) ValidateCreate(_ context.Context, config *corev1.ConfigMap) (admission.Warnings, error) {
	for name := range config.Data {
		if !variable.MatchString(name) {
			return nil, fmt.Errorf("%q is no name for a variable", name)
		}
	}
	return nil, nil
}

// ValidateUpdate does the same.
func (w Webhook) ValidateUpdate(ctx context.Context, _, config *corev1.ConfigMap) (admission.Warnings, error) {
	return w.ValidateCreate(ctx, config)
}

// ValidateDelete is not asked.
func (Webhook) ValidateDelete(context.Context, *corev1.ConfigMap) (admission.Warnings, error) {
	return nil, nil
}
