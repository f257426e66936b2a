package receipts

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/codeconnect/vmgroup-operator/internal/configmaps"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

const (
	// prefix of the names of all receipts, the component that they are of, and the one key in each.
	prefix    = "vmgroup-operator-receipt-"
	component = configmaps.Component("receipt")
	dataKey   = "receipt.json"
	// format of the receipts that this version writes and reads. Who reads another one could lose what it says.
	format = 1
)

// How large a receipt may be, in bytes: so much without VMs, more for each VM, and not more than that. An honest one with a VM whose name has 80 letters needs
// 250 bytes for it. Names, paths and lists in it may come from a status that a hostile API server made up, and a member may have thousands of receipts.
const bareBytes, vmBytes, mostBytes = 16 << 10, 512, 320 << 10

// Bytes is about how many bytes the hub keeps for a receipt, with what a ConfigMap has besides.
func (r *Receipt) Bytes() int {
	const configMap, bare, vm = 1 << 10, 512, 150
	n := configMap + bare + len(r.Namespace) + len(r.Group) + len(r.GroupUID) + len(r.Folder.Path) + len(r.MemberUID) + len(r.MemberCluster) + len(r.VCenter) + len(r.InstanceUUID)
	for i := range r.VMs {
		n += vm + len(r.VMs[i].Name) + len(r.VMs[i].MoRef) + len(r.VMs[i].UUID) + len(r.VMs[i].Revision)
	}
	return n
}

// bounded refuses a receipt that is too large with a [*TooLargeError].
func bounded(r *Receipt) error {
	content, err := encode(r)
	if err != nil {
		return err
	}
	if n, most := len(content[dataKey]), min(bareBytes+len(r.VMs)*vmBytes, mostBytes); n > most {
		return &TooLargeError{Group: untrusted.Name(r.Namespace + "/" + r.Group), Bytes: n, Most: most}
	}
	return nil
}

// stored is a receipt as it is stored.
type stored struct {
	Format int `json:"format"`
	Receipt
}

// Name of the ConfigMap of a group's receipt. The API server of a member may say any UID, so the name has a hash of it.
func Name(key Key) string {
	sum := sha256.Sum256([]byte(key))
	return prefix + hex.EncodeToString(sum[:12])
}

// encode returns the content of a ConfigMap. It is indented, since people read it.
func encode(r *Receipt) (map[string]string, error) {
	if !r.valid() {
		return nil, fmt.Errorf("the receipt of group %s/%s is not complete: %+v", r.Namespace, r.Group, *r)
	}
	text, err := json.MarshalIndent(stored{Format: format, Receipt: *r}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the receipt of group %s/%s: %w", r.Namespace, r.Group, err)
	}
	return map[string]string{dataKey: string(text)}, nil
}

// decode reads a ConfigMap. A copy under another name is no receipt: it would let the VMs be taken a second time.
func decode(object *corev1.ConfigMap) (Receipt, error) {
	unreadable := func(problem string) (Receipt, error) {
		return Receipt{}, &UnreadableError{ConfigMap: object.Name, Problem: problem}
	}
	text, ok := object.Data[dataKey]
	if !ok {
		return unreadable(fmt.Sprintf("it has no key %q", dataKey))
	}
	var is struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal([]byte(text), &is); err != nil {
		return unreadable(err.Error())
	}
	if is.Format != format {
		return unreadable(fmt.Sprintf("it has format %d, and this operator knows %d", is.Format, format))
	}
	var content stored
	if err := json.Unmarshal([]byte(text), &content); err != nil {
		return unreadable(err.Error())
	}
	r := content.Receipt
	if !r.valid() {
		return unreadable("it does not say whose VMs were let go, when and why")
	}
	if object.Name != Name(r.Key()) {
		return unreadable(fmt.Sprintf("it is a copy: the receipt of group %s/%s is ConfigMap %q", r.Namespace, r.Group, Name(r.Key())))
	}
	return r, nil
}
