package quota

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// Key identifies a group. Its UID alone does not: the API server of its member assigns it, and another API server can use the same one.
type Key struct {
	// Member is the name of the MemberCluster.
	Member string
	UID    types.UID
}

// keyOf returns the key of the total that a requester's groups count in under a policy's quota. It is short, since every entry carries it, and long
// enough that two totals never share one.
func keyOf(p *policy.Policy, r policy.Requester) string {
	return short(p.Name(), p.QuotaScope(r))
}

func keysOf(quotas []*policy.Policy, r policy.Requester) []string {
	keys := make([]string, 0, len(quotas))
	for _, p := range quotas {
		keys = append(keys, keyOf(p, r))
	}
	slices.Sort(keys)
	return keys
}

// compareKeys orders keys, so that work for many groups has a fixed order.
func compareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Member, b.Member), cmp.Compare(a.UID, b.UID))
}

// nameOfTotal describes for users the total that a requester's groups count in under a policy's quota.
func nameOfTotal(p *policy.Policy, r policy.Requester) string {
	if together(p) {
		return fmt.Sprintf("VmGroupPolicy %q, all that it matches", p.Name())
	}
	return fmt.Sprintf("VmGroupPolicy %q, namespace %q of MemberCluster %q", p.Name(), r.Namespace, r.Member)
}

// together reports whether the policy has one total for all that it matches.
func together(p *policy.Policy) bool {
	return p.QuotaScope(policy.Requester{Member: "one"}) == p.QuotaScope(policy.Requester{Member: "another"})
}

// markOf identifies a quota and its match inside a member: if the match changes, members must be counted again.
func markOf(p *policy.Policy) string {
	match, err := json.Marshal([]any{p.Exclude(), p.Requirements()})
	if err != nil {
		return "" // unreachable: strings and lists of strings can be encoded
	}
	return short(p.Name(), string(match))
}

func short(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
