// Package renewal requests the next tokens of a member's ServiceAccounts before their tokens expire. Each ServiceAccount requests its
// own, so that no identity can become another. The leader stores the tokens in Secrets of the operator, and all replicas read them.
package renewal
