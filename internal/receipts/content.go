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
	// prefix of the names of all receipts, their component, and the one key in each.
	prefix    = "vmgroup-operator-receipt-"
	component = configmaps.Component("receipt")
	dataKey   = "receipt.json"
	// format of the receipts that this version writes and reads. A reader of another format could lose data.
	format = 1
)

// Limits of a receipt's size, in bytes: a base, an amount for each VM, and the maximum. A genuine receipt of a VM whose name has 80 letters needs 250 bytes for the VM. A hostile
// API server can make up names, paths and lists in status, and a member can have thousands of receipts.
const bareBytes, vmBytes, mostBytes = 16 << 10, 512, 320 << 10

// Bytes returns the approximate stored size of a receipt on the hub, including its ConfigMap.
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

// stored is the stored form of a receipt.
type stored struct {
	Format int `json:"format"`
	Receipt
}

// Name returns the name of the ConfigMap of a group's receipt. The API server of a member can report any UID, so the name has a hash of it.
func Name(key Key) string {
	sum := sha256.Sum256([]byte(key))
	return prefix + hex.EncodeToString(sum[:12])
}

// encode returns the content of a ConfigMap. The content is indented for readers.
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

// decode reads a ConfigMap. A copy under another name is no receipt: with it, the VMs could be adopted a second time.
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
		return unreadable("it lacks the owner, the time or the cause of the release")
	}
	if object.Name != Name(r.Key()) {
		return unreadable(fmt.Sprintf("it is a copy: the receipt of group %s/%s is ConfigMap %q", r.Namespace, r.Group, Name(r.Key())))
	}
	return r, nil
}
