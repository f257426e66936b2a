package operator

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
)

func TestTokensAndReleasesAreNotRead(t *testing.T) {
	for kind, read := range map[corev1.SecretType]bool{
		corev1.SecretTypeOpaque: true, corev1.SecretTypeBasicAuth: true, corev1.SecretTypeTLS: true, // the authority of cert-manager
		corev1.SecretTypeServiceAccountToken: false, "helm.sh/release.v1": false,
	} {
		if readableSecrets().Matches(fields.Set{"type": string(kind)}) != read {
			t.Errorf("Secrets of type %s are read: %t", kind, !read)
		}
	}
}
