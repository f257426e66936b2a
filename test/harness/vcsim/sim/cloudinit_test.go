package sim_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// forGuest are keys of guestinfo for a clone.
func forGuest(keys map[string]string, change func(*types.VirtualMachineConfigSpec)) func(*types.VirtualMachineCloneSpec) {
	return func(s *types.VirtualMachineCloneSpec) {
		s.Config = &types.VirtualMachineConfigSpec{}
		for key, value := range keys {
			s.Config.ExtraConfig = append(s.Config.ExtraConfig, &types.OptionValue{Key: key, Value: value})
		}
		if change != nil {
			change(s.Config)
		}
	}
}

func (h hand) firstBoot(path string) sim.FirstBoot {
	h.t.Helper()
	boot, err := h.FirstBoot(h.ctx, path)
	must(h.t, err)
	return boot
}

func TestAGuestReadsItsFirstBootFromGuestinfo(t *testing.T) {
	h := person(t, sim.Options{})
	for name, c := range map[string]struct {
		keys map[string]string
		want sim.FirstBoot
	}{
		"nothing":   {nil, sim.FirstBoot{}},
		"plain":     {map[string]string{"guestinfo.userdata": "a"}, sim.FirstBoot{Datasource: "VMware", UserData: "a"}},
		"encoded":   {map[string]string{"guestinfo.metadata": encoded("{}"), "guestinfo.metadata.encoding": "base64"}, sim.FirstBoot{Datasource: "VMware", Metadata: "{}"}},
		"packed":    {map[string]string{"guestinfo.userdata": "H4sIAAAAAAACA0sEAEO+t+gBAAAA", "guestinfo.userdata.encoding": "gzip+base64"}, sim.FirstBoot{Datasource: "VMware", UserData: "a"}},
		"too-long":  {map[string]string{"guestinfo.userdata": encoded(strings.Repeat("a", 1<<16)) + "=", "guestinfo.userdata.encoding": "gzip+base64"}, sim.FirstBoot{}},
		"ignition":  {map[string]string{"guestinfo.ignition.config.data": encoded("{}"), "guestinfo.ignition.config.data.encoding": "base64"}, sim.FirstBoot{Ignition: "{}"}},
		"undecoded": {map[string]string{"guestinfo.userdata": "a", "guestinfo.userdata.encoding": "base64"}, sim.FirstBoot{}},
	} {
		must(t, h.clone(template, root, name, forGuest(c.keys, nil)))
		if got := h.firstBoot(root + "/" + name); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestAGuestWithOVFPropertiesReadsNoGuestinfo(t *testing.T) {
	h := person(t, sim.Options{})
	must(t, h.FromOVA(h.ctx, template, map[string]string{"hostname": "ova", "user-data": encoded("theirs")}))
	keys := map[string]string{"guestinfo.userdata": "ours"}
	must(t, h.clone(template, root, "kept", forGuest(keys, nil)))
	if got := h.firstBoot(root + "/kept"); got != (sim.FirstBoot{Datasource: "OVF", UserData: "theirs"}) {
		t.Errorf("a clone with the properties of its template boots with %+v", got)
	}
	remove := func(s *types.VirtualMachineConfigSpec) { s.VAppConfigRemoved = types.NewBool(true) }
	must(t, h.clone(template, root, "removed", forGuest(keys, remove)))
	must(t, h.reconfigure(root+"/kept", types.VirtualMachineConfigSpec{VAppConfigRemoved: types.NewBool(true)}))
	for _, name := range []string{"/removed", "/kept"} {
		if got := h.firstBoot(root + name); got != (sim.FirstBoot{Datasource: "VMware", UserData: "ours"}) {
			t.Errorf("without them %s boots with %+v", name, got)
		}
	}
	if got := h.firstBoot(template); got.Datasource != "OVF" {
		t.Errorf("the template has %+v", got)
	}
}

func TestVAppPropertiesNeedAPrivilege(t *testing.T) {
	s, p := start(t, sim.Options{})
	must(t, p.FromOVA(t.Context(), template, nil))
	h := restricted(t, s)
	remove := func(s *types.VirtualMachineConfigSpec) { s.VAppConfigRemoved = types.NewBool(true) }
	denied := refused[*types.NoPermission](t, h.clone(template, root, "a", forGuest(nil, remove)))
	if denied != nil && denied.PrivilegeId != "VApp.ApplicationConfig" {
		t.Errorf("denied was %+v", denied)
	}
	must(t, h.clone(template, root, "b", nil))
}

func TestCloudInitRedactsAndPublishesWhereItRuns(t *testing.T) {
	h := person(t, sim.Options{})
	metadata := encoded(`{"redact":["userdata"]}`)
	keys := map[string]string{
		sim.GuestBoot: "0s", sim.GuestCloudInit: "yes", "guestinfo.userdata": encoded("a"), "guestinfo.userdata.encoding": "base64",
		"guestinfo.metadata": metadata, "guestinfo.metadata.encoding": "base64",
	}
	must(t, h.clone(template, root, "web", forGuest(keys, nil)))
	web := root + "/web"
	must(t, h.PowerOn(h.ctx, web))
	shows := func() map[string]string { info, err := h.GuestInfo(h.ctx, web); must(t, err); return info }
	h.until("cloud-init has run", func() bool { return shows()["guestinfo.local-ipv4"] != "" && shows()["guestinfo.userdata"] == "---" })
	if info := shows(); info["guestinfo.userdata.encoding"] != " " || info["guestinfo.metadata"] != metadata {
		t.Errorf("vCenter shows %v", info)
	}
	must(t, h.PowerOff(h.ctx, web))
	if info := shows(); info["guestinfo.userdata"] != encoded("a") || info["guestinfo.local-ipv4"] != "" {
		t.Errorf("off it shows %v", info)
	}

	delete(keys, sim.GuestCloudInit)
	key, value := sim.GuestWrites("guestinfo.booted", 10*time.Millisecond, "yes")
	keys[key] = value
	must(t, h.clone(template, root, "plain", forGuest(keys, nil)))
	web = root + "/plain"
	must(t, h.PowerOn(h.ctx, web))
	h.until("the guest has booted", func() bool { return shows()["guestinfo.booted"] == "yes" })
	if info := shows(); info["guestinfo.userdata"] != encoded("a") {
		t.Errorf("without cloud-init vCenter shows %v", info)
	}
}
