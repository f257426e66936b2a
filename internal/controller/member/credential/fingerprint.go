package credential

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"k8s.io/client-go/rest"
)

// Fingerprint returns a hash of the address and the identity of a client configuration. It is the same for two tokens of one
// identity, so that a renewed token does not need a new connection. Tokens whose identity cannot be read differ.
func Fingerprint(config *rest.Config) string {
	content := fmt.Sprintf("%q %t", []string{
		config.Host, config.ServerName, config.Username, config.Password, identityOf(config.BearerToken),
		string(config.CAData), string(config.CertData), string(config.KeyData),
	}, config.DisableCompression)
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// identityOf returns the issuer and the subject of a JSON Web Token, or the token itself if it has none.
func identityOf(token string) string {
	claims, ok := claimsOf(token)
	if !ok || claims.Subject == "" {
		return token
	}
	return strings.Join([]string{"jwt", claims.Issuer, claims.Subject}, "\x00")
}
