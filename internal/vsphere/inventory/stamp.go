package inventory

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Keys of the stamp and of the release mark in a VM's extraConfig.
const (
	KeyOwner     = "vmgroup.owner"
	KeyRevision  = "vmgroup.revision"
	KeyCloneMode = "vmgroup.cloneMode"
	KeyEpoch     = "vmgroup.epoch"
	KeyCreated   = "vmgroup.created"
	KeyTombstone = "vmgroup.tombstone"
	KeyUUID      = "vmgroup.uuid"
	KeyReleased  = vsphere.ReleaseKey
)

// Keys of a VM's disks. They are not part of the stamp: they stay valid and in place after a release.
const (
	// KeyDisks holds the disks that a VM got from its template.
	KeyDisks = "vmgroup.disks"
	// KeyRootDisk holds the capacity in GiB that the operator gave the first disk.
	KeyRootDisk = "vmgroup.rootDiskGiB"
	// KeyDataDisks holds the data disks that the operator created: see vsphere.DataDisks.
	KeyDataDisks = "vmgroup.dataDisks"
)

// Keys are the keys that the operator reads with the configuration of a current or former VM of a group, in the order of writing.
var Keys = []string{KeyOwner, KeyRevision, KeyCloneMode, KeyEpoch, KeyCreated, KeyTombstone, KeyReleased, KeyUUID, KeyRootDisk, KeyDataDisks}

const (
	ownerVersion    = "v1"
	releasedVersion = "v1"
	disksVersion    = "v1"
)

var (
	errStamp = errors.New("a stamp needs installation, member and group UIDs without semicolons, " +
		"and an ordinal and incarnation that are not negative")
	errRelease = errors.New("a retention mark needs installation, member and group UIDs and a namespace without semicolons, " +
		"and an ordinal that is not negative")
)

// KV is one key of extraConfig with its value.
type KV struct{ Key, Value string }

// EncodeStamp returns the extraConfig of a stamp. It empties the tombstone and the release mark: vCenter copies extraConfig, and clones of a template that was
// made from a VM with a tombstone would otherwise be doomed forever.
func EncodeStamp(s vsphere.Stamp) ([]KV, error) {
	if !separable(s.Installation, s.Member, s.Group) || s.Ordinal < 0 || s.Incarnation < 0 {
		return nil, errStamp
	}
	created := ""
	if !s.Created.IsZero() {
		created = s.Created.UTC().Format(time.RFC3339)
	}
	return []KV{
		{KeyOwner, fmt.Sprintf("%s;%s;%s;%s;%d;%d", ownerVersion, s.Installation, s.Member, s.Group,
			s.Ordinal, s.Incarnation)},
		{KeyRevision, s.Revision},
		{KeyCloneMode, s.CloneMode},
		{KeyEpoch, fmt.Sprintf("%d.%d", s.Epoch.Generation, s.Epoch.Number)},
		{KeyCreated, created},
		{KeyTombstone, ""},
		{KeyReleased, ""},
		{KeyUUID, s.UUID},
	}, nil
}

// separable reports whether fields can be split again after joining them with semicolons.
func separable(fields ...string) bool {
	return !slices.ContainsFunc(fields, func(f string) bool { return f == "" || strings.ContainsAny(f, ";\x00") })
}

// DecodeStamp reads a stamp from extraConfig. If the stamp is missing, was released or is malformed in any part, it returns nil: such a VM has no owner, and
// the operator never changes it. The tombstone of a VM without a stamp has no meaning and reads as false. A revision or clone mode longer than ours is cut: a
// user who can change the VM in vCenter wrote it. Status has room only for ours and could otherwise not be written. A cut value never equals one of ours.
func DecodeStamp(values map[string]string) (stamp *vsphere.Stamp, tombstone bool) {
	parts := strings.Split(values[KeyOwner], ";")
	if len(parts) != 6 || parts[0] != ownerVersion {
		return nil, false
	}
	s := vsphere.Stamp{
		GroupID:   vsphere.GroupID{Installation: parts[1], Member: parts[2], Group: parts[3]},
		Revision:  untrusted.Text(values[KeyRevision], vsphere.LongestRevision),
		CloneMode: untrusted.Text(values[KeyCloneMode], vsphere.LongestCloneMode),
		UUID:      values[KeyUUID],
	}
	if s.Installation == "" || s.Member == "" || s.Group == "" {
		return nil, false
	}
	var ok [4]bool
	s.Ordinal, ok[0] = number(parts[4])
	s.Incarnation, ok[1] = number(parts[5])
	s.Epoch, ok[2] = decodeEpoch(values[KeyEpoch])
	s.Created, ok[3] = decodeTime(values[KeyCreated])
	if ok != [4]bool{true, true, true, true} {
		return nil, false
	}
	return &s, values[KeyTombstone] != ""
}

// OwnerOf returns the installation in a stamp's owner value, or "" if the value is malformed.
func OwnerOf(owner string) (installation string) {
	if parts := strings.Split(owner, ";"); len(parts) == 6 && parts[0] == ownerVersion {
		return parts[1]
	}
	return ""
}

// EncodeRelease returns the extraConfig of a released VM: the mark, and empty values for all keys of the stamp except the UUID.
func EncodeRelease(m vsphere.ReleaseMark) ([]KV, error) {
	if !separable(m.Installation, m.Member, m.Namespace, m.Group) || m.Ordinal < 0 {
		return nil, errRelease
	}
	kvs := make([]KV, 0, len(Keys))
	for _, key := range Keys {
		value := ""
		switch key {
		case KeyRootDisk, KeyDataDisks:
			continue // the disks stay
		case KeyUUID:
			value = m.UUID
		case KeyReleased:
			// The revision is last, because it comes from the stamp and can contain anything.
			value = fmt.Sprintf("%s;%s;%s;%s;%s;%d;%s", releasedVersion, m.Installation, m.Member, m.Namespace, m.Group, m.Ordinal, m.Revision)
		}
		kvs = append(kvs, KV{key, value})
	}
	return kvs, nil
}

// DecodeRelease reads a release mark from extraConfig. If the mark is missing, malformed in any part, or beside a stamp, it returns nil.
func DecodeRelease(values map[string]string) *vsphere.ReleaseMark {
	parts := strings.SplitN(values[KeyReleased], ";", 7)
	if len(parts) != 7 || parts[0] != releasedVersion {
		return nil
	}
	m := vsphere.ReleaseMark{
		GroupID:   vsphere.GroupID{Installation: parts[1], Member: parts[2], Group: parts[4]},
		Namespace: parts[3], Revision: untrusted.Text(parts[6], vsphere.LongestRevision), UUID: values[KeyUUID],
	}
	var ok bool
	if m.Ordinal, ok = number(parts[5]); !ok || !separable(parts[1:5]...) {
		return nil
	}
	if stamp, _ := DecodeStamp(values); stamp != nil {
		return nil
	}
	return &m
}

// number parses only the canonical decimal form, so that no two spellings mean the same ordinal.
func number(s string) (int32, bool) {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != s {
		return 0, false
	}
	return int32(n), true
}

func decodeEpoch(s string) (vsphere.Epoch, bool) {
	gen, num, ok := strings.Cut(s, ".")
	if !ok {
		return vsphere.Epoch{}, false
	}
	g, err1 := strconv.ParseInt(gen, 10, 64)
	n, err2 := strconv.ParseInt(num, 10, 64)
	return vsphere.Epoch{Generation: g, Number: n}, err1 == nil && err2 == nil
}

func decodeTime(s string) (time.Time, bool) {
	if s == "" {
		return time.Time{}, true
	}
	t, err := time.Parse(time.RFC3339, s)
	return t.UTC(), err == nil
}
