package credential

import (
	"strings"
	"time"
)

// accountPrefix begins the subject of a ServiceAccount's token.
const accountPrefix = "system:serviceaccount:"

// SessionSecret is the Secret in a member, beside its ServiceAccounts, to which all tokens are bound. Its deletion revokes them.
const SessionSecret = "vmgroup-operator-session"

// mostToken bounds a token, in bytes. That of a ServiceAccount has about 1,200. A member's API server issues the tokens, and the hub stores them.
const mostToken = 8 << 10

// base64URL has the characters of a JSON Web Token. Others cannot be part of a header.
const base64URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."

// Account is the token of a ServiceAccount.
type Account struct {
	Namespace, Name string
	// Issued and Expires are iat and exp of the token.
	Issued, Expires time.Time
}

// AccountOf returns the ServiceAccount of a token. It returns false if the token has no expiry, or is no token of a ServiceAccount.
// The signature is not verified: only the API server can do that.
func AccountOf(token string) (Account, bool) {
	c, ok := claimsOf(token)
	if !ok || len(token) > mostToken || strings.Trim(token, base64URL) != "" {
		return Account{}, false
	}
	subject, isAccount := strings.CutPrefix(c.Subject, accountPrefix)
	namespace, name, both := strings.Cut(subject, ":")
	a := Account{Namespace: namespace, Name: name, Issued: timeOf(c.Issued), Expires: timeOf(c.Expiry)}
	return a, isAccount && both && namespace != "" && name != "" && !strings.Contains(name, ":") && a.Issued.Before(a.Expires) && !a.Issued.IsZero()
}

// Newer returns the token that was issued last. A token that is no ServiceAccount's is older than any.
func Newer(one, other string) string {
	a, _ := AccountOf(one)
	if b, ok := AccountOf(other); ok && b.Issued.After(a.Issued) {
		return other
	}
	return one
}
