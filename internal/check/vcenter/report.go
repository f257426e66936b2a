package vcenter

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere/privileges"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/survey"
)

// Report can be published: it contains no name, address, path, reference, user or thumbprint. Objects have numbers.
// Each field is set explicitly, so that a new fact needs a review before it enters the report.
type Report struct {
	Format   int       `json:"format"`
	Operator string    `json:"operator"`
	Time     time.Time `json:"time"`
	Result   string    `json:"result"`

	Findings  []ReportFinding  `json:"findings"`
	Server    ReportServer     `json:"server"`
	Rights    []ReportRights   `json:"privileges,omitempty"`
	Places    *ReportPlaces    `json:"places,omitempty"`
	Templates []ReportTemplate `json:"templates,omitempty"`
	Reading   *ReportReading   `json:"reading,omitempty"`
	Sessions  []ReportSessions `json:"sessions,omitempty"`
	Probe     *ReportProbe     `json:"probe,omitempty"`
}

// ReportFinding is a finding without its sentence.
type ReportFinding struct {
	Level      string   `json:"level"`
	Step       Step     `json:"step"`
	ID         string   `json:"id"`
	Kind       string   `json:"kind,omitempty"`
	Objects    int      `json:"objects,omitempty"`
	Privileges []string `json:"privileges,omitempty"`
	Fault      string   `json:"fault,omitempty"`
}

// ReportServer describes the server that answers.
type ReportServer struct {
	Version                 string        `json:"version,omitempty"`
	Build                   string        `json:"build,omitempty"`
	APIVersion              string        `json:"apiVersion,omitempty"`
	VersionedAction         survey.Answer `json:"versionedAction"`
	UnversionedAction       survey.Answer `json:"unversionedAction"`
	VersionsFile            bool          `json:"versionsFile"`
	Versions                []string      `json:"versions,omitempty"`
	TLSVersion              string        `json:"tlsVersion,omitempty"`
	Chain                   int           `json:"chain,omitempty"`
	SelfSigned              bool          `json:"selfSigned,omitempty"`
	CertificateDays         int           `json:"certificateDays,omitempty"`
	ClockMilliseconds       int64         `json:"clockMilliseconds,omitempty"`
	ClockRead               bool          `json:"clockRead"`
	InstanceUUIDHas36Digits bool          `json:"instanceUuidHas36Characters"`
}

// ReportRights lists the privileges of an account on an object. Only privileges that the operator knows are listed.
type ReportRights struct {
	Object string   `json:"object"`
	Has    []string `json:"has"`
	Lacks  []string `json:"lacks,omitempty"`
	Unread bool     `json:"unread,omitempty"`
}

// ReportPlaces counts the places for VMs.
type ReportPlaces struct {
	RootFolderExists bool   `json:"rootFolderExists"`
	Hosts            int    `json:"hosts"`
	Pools            int    `json:"pools"`
	Datastores       int    `json:"datastores"`
	Networks         int    `json:"networks"`
	Templates        int    `json:"templates"`
	Unseen           int    `json:"unseen"`
	InCluster        bool   `json:"inCluster"`
	ClusterHosts     int    `json:"clusterHosts"`
	HostsAway        int    `json:"hostsAway"`
	DRS              bool   `json:"drs"`
	Automation       string `json:"automation,omitempty"`
	HA               bool   `json:"ha"`
	Admission        bool   `json:"admissionControl"`
	PortGroups       int    `json:"distributedPortGroups"`
}

// ReportTemplate is a template without its name.
type ReportTemplate struct {
	Object          string   `json:"object"`
	CPUs            int64    `json:"cpus"`
	CoresPerSocket  int64    `json:"coresPerSocket"`
	MemoryMiB       int64    `json:"memoryMiB"`
	HardwareVersion int      `json:"hardwareVersion"`
	ToolsStatus     string   `json:"toolsStatus,omitempty"`
	VApp            bool     `json:"vApp"`
	TPM             bool     `json:"tpm"`
	Encrypted       bool     `json:"encrypted"`
	Snapshot        bool     `json:"snapshot"`
	Adapters        []string `json:"adapters,omitempty"`
	Disks           []string `json:"disks,omitempty"`
}

// ReportReading measures how fast the operator reads vCenter.
type ReportReading struct {
	Objects             int   `json:"objects"`
	Pages               int   `json:"pages"`
	Milliseconds        int64 `json:"milliseconds"`
	VMs                 int   `json:"vms"`
	VMsMilliseconds     int64 `json:"vmsMilliseconds"`
	SecondPage          bool  `json:"secondPage"`
	UpdatesMilliseconds int64 `json:"updatesMilliseconds"`
	RecentTasks         int   `json:"recentTasks"`
}

// ReportSessions is a count of sessions.
type ReportSessions struct {
	Seconds int64 `json:"seconds"`
	Hidden  bool  `json:"hidden"`
	All     int   `json:"all"`
	Account int   `json:"account"`
	Unnamed int   `json:"unnamed"`
	Own     bool  `json:"own"`
	Whole   bool  `json:"whole"`
}

// ReportProbe is the result of the probe's VM.
type ReportProbe struct {
	Failed                 string `json:"failed,omitempty"`
	CloneMilliseconds      int64  `json:"cloneMilliseconds"`
	PowerOnMilliseconds    int64  `json:"powerOnMilliseconds"`
	SeenMidClone           bool   `json:"seenMidClone"`
	ConfigMidClone         bool   `json:"configMidClone"`
	UUIDKept               bool   `json:"instanceUuidKept"`
	MACNew                 bool   `json:"macNew"`
	KeysKept               bool   `json:"diskKeysKept"`
	Tools                  bool   `json:"tools"`
	Address                bool   `json:"address"`
	ToolsMilliseconds      int64  `json:"toolsMilliseconds"`
	GuestInfo              bool   `json:"guestinfo"`
	PowerMovesVersion      bool   `json:"powerMovesChangeVersion"`
	GuestInfoMovesVersion  bool   `json:"guestinfoMovesChangeVersion"`
	TaskAfterDestroyLooked bool   `json:"taskAfterDestroyRead"`
	TaskAfterDestroy       bool   `json:"taskAfterDestroyVisible"`
	Removed                bool   `json:"removed"`
}

// NewReport makes a report. operator is the version of this program.
func NewReport(f *survey.Facts, found []Finding, operator string) Report {
	r := Report{
		Format: 1, Operator: operator, Time: f.Began.UTC().Truncate(time.Second), Result: Worst(found).String(), Server: reportServer(f), Rights: reportRights(f),
		Places: reportPlaces(f), Templates: reportTemplates(f), Findings: make([]ReportFinding, 0, len(found)),
	}
	for _, x := range found {
		r.Findings = append(r.Findings, ReportFinding{
			Level: x.Level.String(), Step: x.Step, ID: x.ID, Kind: x.Kind, Objects: x.Objects, Privileges: known(x.Privileges), Fault: x.Fault,
		})
	}
	if x := f.Reading; x != nil {
		r.Reading = &ReportReading{
			Objects: x.Objects, Pages: x.Pages, Milliseconds: x.Took.Milliseconds(), VMs: x.VMs, VMsMilliseconds: x.VMsTook.Milliseconds(), SecondPage: x.Continued,
			UpdatesMilliseconds: x.UpdatesTook.Milliseconds(), RecentTasks: x.RecentTasks,
		}
	}
	for _, x := range f.Sessions {
		r.Sessions = append(r.Sessions, ReportSessions{
			Seconds: int64(x.At.Sub(f.Began).Seconds()), Hidden: x.Hidden, All: x.All, Account: x.Account, Unnamed: x.Unnamed, Own: x.Own, Whole: x.Whole,
		})
	}
	if x := f.Probe; x != nil {
		r.Probe = &ReportProbe{
			Failed: x.Failed, CloneMilliseconds: x.CloneTook.Milliseconds(), PowerOnMilliseconds: x.PowerOnTook.Milliseconds(), SeenMidClone: x.SeenMidClone,
			ConfigMidClone: x.ConfigMidClone, UUIDKept: x.UUIDKept, MACNew: x.MACNew, KeysKept: x.KeysKept, Tools: x.Tools, Address: x.IP,
			ToolsMilliseconds: x.ToolsTook.Milliseconds(), GuestInfo: x.GuestInfo, PowerMovesVersion: x.PowerMoves, GuestInfoMovesVersion: x.GuestMoves,
			TaskAfterDestroyLooked: x.TaskAfterDestroy, TaskAfterDestroy: x.TaskVisible, Removed: x.Left == nil,
		}
	}
	return r
}

// Write writes the report.
func (r Report) Write(out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// known removes privileges that vSphere does not have, because a server can return any text.
func known(ids []string) (out []string) {
	for _, id := range ids {
		if slices.ContainsFunc(privileges.All(), func(p privileges.Privilege) bool { return p.ID == id }) {
			out = append(out, id)
		}
	}
	return out
}

// one returns a value if vSphere has it, and "other" otherwise.
func one(value string, of ...string) string {
	if value == "" || slices.Contains(of, value) {
		return value
	}
	return "other"
}

func reportServer(f *survey.Facts) ReportServer {
	r := ReportServer{VersionedAction: f.Server.Versioned, UnversionedAction: f.Server.Unversioned, VersionsFile: f.Server.VersionsFile}
	for _, v := range f.Server.Versions[:min(len(f.Server.Versions), maxVersions)] {
		r.Versions = append(r.Versions, plainVersion(v))
	}
	if a := f.Server.About; a != nil {
		r.Version, r.Build, r.APIVersion = plainVersion(a.Version), plainVersion(a.Build), plainVersion(a.APIVersion)
		r.InstanceUUIDHas36Digits = len(a.InstanceUUID) == len("00000000-0000-0000-0000-000000000000")
	}
	if c := f.Server.Certificate; c != nil {
		r.TLSVersion, r.Chain, r.SelfSigned = one(c.TLSVersion, "TLS 1.2", "TLS 1.3"), c.Chain, c.SelfSigned
		r.CertificateDays = int(c.NotAfter.Sub(f.Began).Hours() / 24)
	}
	if f.Login != nil {
		r.ClockMilliseconds, r.ClockRead = f.Login.Skew.Milliseconds(), f.Login.ClockRead
	}
	return r
}

// maxVersions limits the API versions in a report.
const maxVersions = 50

func reportRights(f *survey.Facts) (out []ReportRights) {
	counts := map[privileges.Object]int{}
	for _, x := range f.Rights {
		counts[x.Kind]++
		r := ReportRights{Object: fmt.Sprintf("%s %d", x.Kind, counts[x.Kind]), Unread: x.Unread, Has: []string{}}
		for _, p := range privileges.All() {
			switch {
			case p.Object != x.Kind || x.Unread:
			case slices.Contains(x.Has, p.ID):
				r.Has = append(r.Has, p.ID)
			default:
				r.Lacks = append(r.Lacks, p.ID)
			}
		}
		out = append(out, r)
	}
	return out
}

func reportPlaces(f *survey.Facts) *ReportPlaces {
	p := f.Places
	if p == nil {
		return nil
	}
	r := &ReportPlaces{
		RootFolderExists: p.FolderMade, Hosts: p.Hosts, Pools: p.Pools, Datastores: p.AllDatastores, Networks: p.AllNetworks, Templates: p.AllTemplates, Unseen: len(p.Unseen),
	}
	if c := p.Cluster; c != nil {
		r.InCluster, r.ClusterHosts, r.HostsAway, r.DRS, r.HA, r.Admission = !c.Single, c.Hosts, len(c.Away), c.DRS, c.HA, c.Admission
		r.Automation = one(c.Automation, automated, "partiallyAutomated", manual)
	}
	for _, n := range p.Networks {
		if n.Distributed {
			r.PortGroups++
		}
	}
	return r
}

func reportTemplates(f *survey.Facts) (out []ReportTemplate) {
	for i, t := range f.Templates {
		r := ReportTemplate{
			Object: fmt.Sprintf("%s %d", privileges.Template, i+1), CPUs: t.CPUs, CoresPerSocket: t.CoresPerSocket, MemoryMiB: t.MemoryMiB, HardwareVersion: t.HardwareVersion,
			ToolsStatus: one(t.ToolsStatus, "guestToolsNotInstalled", "guestToolsNeedUpgrade", "guestToolsCurrent", "guestToolsUnmanaged", "guestToolsTooOld", "guestToolsSupportedOld",
				"guestToolsSupportedNew", "guestToolsTooNew", "guestToolsBlacklisted"),
			VApp: t.VApp, TPM: t.TPM, Encrypted: t.Encrypted, Snapshot: t.Snapshot,
		}
		for _, a := range t.Adapters {
			r.Adapters = append(r.Adapters, fmt.Sprintf("%s manualMAC=%t startConnected=%t", a.Type, a.ManualMAC, a.StartConnected))
		}
		for _, d := range t.Disks {
			r.Disks = append(r.Disks, fmt.Sprintf("%s key=%d firstClass=%t persistent=%t", d.Controller, d.Key, d.FirstClass, d.Persistent))
		}
		out = append(out, r)
	}
	return out
}
