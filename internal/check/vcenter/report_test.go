package vcenter_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/check/vcenter"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/privileges"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/survey"
)

var update = flag.Bool("update", false, "write testdata/*.golden instead of comparing with them")

func TestWhatAServerMakesUpIsNotInTheReport(t *testing.T) {
	f := &survey.Facts{
		Server: survey.Server{
			Versioned: survey.Accepted, Versions: []string{"8.0.3.0", "evil"}, About: &survey.About{Version: "8.evil", Build: "evil", APIVersion: "8.0.3.0", VCenter: true},
			Certificate: &survey.Certificate{TLSVersion: "evil", Subject: "CN=evil", Names: []string{"evil"}, SHA256: "evil"},
		},
		Rights: []survey.Rights{{Object: survey.Object{Kind: privileges.Root, Path: "evil", Ref: "evil"}, Has: []string{"evil"}}},
		Places: &survey.Places{Folder: "evil", Cluster: &survey.Cluster{Path: "evil", Automation: "evil", Away: []string{"evil"}, Hosts: 1}},
		Templates: []survey.Template{{Object: survey.Object{Path: "evil"}, ToolsStatus: "evil", Adapters: []survey.Adapter{{Label: "evil", Type: "VirtualVmxnet3"}},
			Disks: []survey.Disk{{Controller: "ParaVirtualSCSIController"}}}},
		Reading: &survey.Reading{Listing: &survey.Problem{Kind: vsphere.KindPermission, Fault: "NoPermission", Privilege: "evil", Text: "evil"}},
	}
	out := &bytes.Buffer{}
	must(t, vcenter.NewReport(f, vcenter.Judge(f, vcenter.Settings{VCenter: "evil"}), "1").Write(out))
	if strings.Contains(out.String(), "evil") {
		t.Error(out)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// example are facts with many findings.
func example() *survey.Facts {
	began := time.Date(2026, 11, 27, 8, 0, 0, 0, time.UTC)
	return &survey.Facts{
		Began: began,
		Server: survey.Server{
			Host: "vcenter.example.com", Versioned: survey.Accepted, Unversioned: survey.Refused, VersionsFile: true, Versions: []string{"8.0.1.0"},
			Certificate: &survey.Certificate{
				NotAfter: began.Add(9 * 24 * time.Hour), SHA256: strings.TrimSuffix(strings.Repeat("AB:", 32), ":"), TLSVersion: "TLS 1.3", Chain: 2,
			},
			About: &survey.About{Version: "8.0.1", Build: "22088981", APIVersion: "8.0.1.0", VCenter: true},
		},
		Login: &survey.Login{User: `VSPHERE.LOCAL\vmgroups`, Skew: 90 * time.Second, ClockRead: true},
		Rights: []survey.Rights{
			{Object: survey.Object{Kind: privileges.Root, Path: "/", Ref: "Folder:group-d1"}},
			{Object: survey.Object{Kind: privileges.RootFolder, Path: "/DC1/vm/vm-operator", Ref: "Folder:group-v7"}, Has: []string{
				"VirtualMachine.Inventory.CreateFromExisting", "VirtualMachine.Inventory.Delete", "VirtualMachine.Config.AdvancedConfig", "VirtualMachine.Config.CPUCount",
				"VirtualMachine.Config.Memory", "VirtualMachine.Config.Settings", "VirtualMachine.Interact.PowerOn", "VirtualMachine.Interact.PowerOff",
			}},
			{Object: survey.Object{Kind: privileges.Datastore, Path: "/DC1/datastore/gold 1", Ref: "Datastore:datastore-9"}},
		},
		Places: &survey.Places{
			Folder: "/DC1/vm/vm-operator", FolderMade: true, Pool: survey.Object{Kind: privileges.ResourcePool, Path: "/DC1/host/c1/Resources"},
			Cluster:    &survey.Cluster{Path: "/DC1/host/c1", Hosts: 4, ConfigRead: true, DRS: true, Automation: "manual", Away: []string{"/DC1/host/c1/esx-4 is in maintenance mode"}},
			Datastores: []survey.Datastore{{Object: survey.Object{Path: "/DC1/datastore/gold 1"}, Accessible: true, Capacity: 1 << 40, Free: 5 << 30}},
		},
		Templates: []survey.Template{
			{Object: survey.Object{Kind: privileges.Template, Path: "/DC1/vm/linux/debian-12"}, CPUs: 4, CoresPerSocket: 4},
			{Object: survey.Object{Kind: privileges.Template, Path: "/DC1/vm/linux/ubuntu 24.04"}, CPUs: 2, CoresPerSocket: 2, VApp: true, Adapters: []survey.Adapter{{Type: "VirtualE1000", ManualMAC: true}}},
		},
		Reading:  &survey.Reading{Objects: 2600, Pages: 3, Took: 1300 * time.Millisecond, Continued: true},
		Sessions: []survey.Sessions{{At: began, All: 30, Account: 4, Own: true, Whole: true}, {At: began.Add(3 * time.Minute), All: 31, Account: 4, Own: true, Whole: true}},
		Probe:    &survey.Probe{CloneTook: 21 * time.Second, PowerOnTook: 2 * time.Second, UUIDKept: true, MACNew: true, KeysKept: true, GuestInfo: true, Tools: true, IP: true, ToolsTook: 18 * time.Second},
	}
}

func TestTheTableFitsATerminal(t *testing.T) {
	found := vcenter.Judge(example(), vcenter.Settings{VCenter: "default", Namespace: "vmgroup-operator-system", Secret: "vc-creds"})
	for name, columns := range map[string]int{"80": 80, "120": 120} {
		out := &bytes.Buffer{}
		must(t, vcenter.Print(out, found, columns))
		for line := range strings.Lines(out.String()) {
			// A word is not broken, nor is a path.
			if line = strings.TrimRight(line, "\n"); len([]rune(line)) > columns && len(strings.Fields(line)) > 3 {
				t.Errorf("%d columns: %q", columns, line)
			}
		}
		golden := filepath.Join("testdata", "table-"+name+".golden")
		if *update {
			must(t, os.MkdirAll("testdata", 0o755))
			must(t, os.WriteFile(golden, out.Bytes(), 0o644))
		}
		want, err := os.ReadFile(golden)
		must(t, err)
		if out.String() != string(want) {
			t.Errorf("%d columns (run the test with -update to write it):\n%s", columns, out)
		}
	}
}

func TestCommandsOfTheTableCanBeCopied(t *testing.T) {
	f := vcenter.Finding{Step: vcenter.Privileges, Level: vcenter.Fail, Says: "x", Fix: "y", Command: strings.Fields("govc role.update -a VmGroupOperator " + strings.Repeat("VirtualMachine.Config.AddNewDisk ", 6))}
	out := &bytes.Buffer{}
	must(t, vcenter.Print(out, []vcenter.Finding{f}, 80))
	_, command, _ := strings.Cut(out.String(), "y\n")
	// A line that ends without a backslash ends the command.
	command, rest, _ := strings.Cut(strings.ReplaceAll(command, "\\\n", " "), "\n")
	if joined := strings.Join(strings.Fields(command), " "); joined != strings.Join(f.Command, " ") || rest != "" || strings.Count(out.String(), "\n") < 5 {
		t.Errorf("a shell reads %q of\n%s", joined, out)
	}
}

func TestACommandHasNoNameThatAShellMisreads(t *testing.T) {
	f := example()
	f.Rights[2].Path = "/DC1/datastore/$(reboot)"
	for _, finding := range vcenter.Judge(f, vcenter.Settings{VCenter: "default; reboot"}) {
		if strings.Contains(strings.Join(finding.Command, " "), "reboot") {
			t.Errorf("%s: %q", finding.ID, finding.Command)
		}
	}
}
