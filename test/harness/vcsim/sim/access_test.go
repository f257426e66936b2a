package sim_test

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// restricted logs in with the account of the program under test.
func restricted(t *testing.T, s *sim.Simulator) hand {
	t.Helper()
	p, err := sim.NewOperator(context.Background(), s.URL, s.Username(), s.Password())
	must(t, err)
	t.Cleanup(p.Close)
	return newHand(t, p)
}

// without returns the operator's privileges except one.
func without(privilege string) []string {
	return slices.DeleteFunc(slices.Clone(sim.OperatorPrivileges), func(p string) bool { return p == privilege })
}

// life runs the operator's actions on a VM, and returns the first error.
func life(h hand) error {
	f, err := h.folder(root).CreateFolder(h.ctx, "mine")
	if err != nil {
		return err
	}
	networks, err := h.find.Network(h.ctx, "/DC0/network/VM Network")
	must(h.t, err)
	devices, err := h.vm(template).Device(h.ctx)
	must(h.t, err)
	card := devices.SelectByType((*types.VirtualEthernetCard)(nil))[0]
	card.GetVirtualDevice().Backing, err = networks.EthernetCardBackingInfo(h.ctx)
	must(h.t, err)
	if err := h.clone(template, root+"/mine", "vm", func(s *types.VirtualMachineCloneSpec) {
		s.Config = &types.VirtualMachineConfigSpec{
			NumCPUs: 2, MemoryMB: 64, InstanceUuid: "8a1c0f4e-0000-4000-8000-000000000001",
			ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "k", Value: "v"}},
		}
		s.Location.DeviceChange = []types.BaseVirtualDeviceConfigSpec{&types.VirtualDeviceConfigSpec{
			Operation: types.VirtualDeviceConfigSpecOperationEdit, Device: card,
		}}
	}); err != nil {
		return err
	}
	const path = root + "/mine/vm"
	vm := h.vm(path)
	for _, step := range []func() error{
		func() error { return h.PowerOn(h.ctx, path) },
		func() error { return h.Set(h.ctx, path, map[string]string{"k": "w"}) },
		func() error { return h.PowerOff(h.ctx, path) },
		func() error { return h.done(vm.Destroy(h.ctx)) },
		func() error { return h.done(f.Destroy(h.ctx)) },
		func() error { _, err := h.TerminateSessions(h.ctx); return err },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func TestTheOperatorsPrivilegesAreEnough(t *testing.T) {
	s, _ := start(t, sim.Options{})
	must(t, life(restricted(t, s)))
}

func TestEachOfTheOperatorsPrivilegesIsNeeded(t *testing.T) {
	for _, privilege := range sim.OperatorPrivileges {
		t.Run(privilege, func(t *testing.T) {
			s, _ := start(t, sim.Options{Privileges: without(privilege)})
			denied := refused[*types.NoPermission](t, life(restricted(t, s)))
			if denied != nil && (denied.PrivilegeId != privilege || denied.Object == nil) {
				t.Errorf("denied was %+v", denied)
			}
		})
	}
}

func TestWhatTheOperatorDoesNotNeedIsRefusedToIt(t *testing.T) {
	s, p := start(t, sim.Options{})
	admin, h := newHand(t, p), restricted(t, s)
	vm := h.vm(ordinary)
	for privilege, err := range map[string]error{
		"VirtualMachine.Config.Rename":        h.Rename(h.ctx, ordinary, "other"),
		"VirtualMachine.Config.Annotation":    h.reconfigure(ordinary, types.VirtualMachineConfigSpec{Annotation: "a"}),
		"VirtualMachine.Provisioning.Clone":   h.clone(ordinary, root, "copy", nil),
		"VirtualMachine.Interact.Suspend":     h.done(vm.Suspend(h.ctx)),
		"VirtualMachine.State.CreateSnapshot": h.done(vm.CreateSnapshot(h.ctx, "s", "", false, false)),
		"VirtualMachine.Inventory.Unregister": vm.Unregister(h.ctx),
		"VirtualMachine.Inventory.Move":       h.Move(h.ctx, ordinary, root),
		"Undocumented.UpgradeVM_Task":         h.done(vm.UpgradeVM(h.ctx, "vmx-99")),
		"Undocumented.Flags":                  h.reconfigure(ordinary, types.VirtualMachineConfigSpec{Flags: &types.VirtualMachineFlagInfo{}}),
	} {
		denied := refused[*types.NoPermission](t, err)
		if denied != nil && denied.PrivilegeId != privilege {
			t.Errorf("refused for %s, want %s", denied.PrivilegeId, privilege)
		}
	}
	must(t, admin.Rename(h.ctx, ordinary, "other"))
}

func TestPrivilegesAreToldAsTheyAre(t *testing.T) {
	s, _ := start(t, sim.Options{Privileges: []string{"Folder.Create", "Sessions.TerminateSession"}})
	h := restricted(t, s)
	manager, on := *h.Client().ServiceContent.AuthorizationManager, []types.ManagedObjectReference{h.folder(root).Reference()}
	for user, wanted := range map[string]bool{s.Username(): false, sim.AdminUsername: true, "unknown": false} {
		got, err := methods.FetchUserPrivilegeOnEntities(h.ctx, h.Client(),
			&types.FetchUserPrivilegeOnEntities{This: manager, Entities: on, UserName: user})
		must(t, err)
		list := got.Returnval[0].Privileges
		if slices.Contains(list, "Folder.Delete") != wanted || slices.Contains(list, "Folder.Create") != (user != "unknown") {
			t.Errorf("%s has %s", user, strings.Join(list, ", "))
		}
		has, err := methods.HasUserPrivilegeOnEntities(h.ctx, h.Client(), &types.HasUserPrivilegeOnEntities{
			This: manager, Entities: on, UserName: user, PrivId: []string{"Folder.Delete"},
		})
		must(t, err)
		if has.Returnval[0].PrivAvailability[0].IsGranted != wanted {
			t.Errorf("%s: HasUserPrivilegeOnEntities differs", user)
		}
	}
	for _, caller := range []hand{h, newHand(t, func() *sim.Operator { p, err := s.Operator(h.ctx); must(t, err); t.Cleanup(p.Close); return p }())} {
		sessions, err := caller.Sessions(h.ctx)
		must(t, err)
		for _, session := range sessions {
			has, err := methods.HasPrivilegeOnEntities(h.ctx, caller.Client(), &types.HasPrivilegeOnEntities{
				This: manager, Entity: on, SessionId: session.Key, PrivId: []string{"Folder.Delete"},
			})
			must(t, err)
			if has.Returnval[0].PrivAvailability[0].IsGranted != (session.UserName == sim.AdminUsername) {
				t.Errorf("session of %s: %+v", session.UserName, has.Returnval)
			}
		}
	}
}

func TestOnlyTheTwoAccountsLogIn(t *testing.T) {
	s, _ := start(t, sim.Options{})
	for user, password := range map[string]string{
		s.Username(): sim.AdminPassword, sim.AdminUsername: s.Password(), "unknown": "", "": "",
	} {
		if _, err := sim.NewOperator(t.Context(), s.URL, user, password); err == nil {
			t.Errorf("%q logs in with %q", user, password)
		}
	}
}

func TestOnlyWhoMayEndSessionsSeesThoseOfOthers(t *testing.T) {
	s, _ := start(t, sim.Options{Privileges: without("Sessions.TerminateSession")})
	h := restricted(t, s)
	_, err := h.Sessions(h.ctx)
	if err == nil {
		t.Error("an account without the privilege sees the sessions")
	}
	var manager mo.SessionManager
	err = property.DefaultCollector(h.Client()).RetrieveOne(h.ctx, *h.Client().ServiceContent.SessionManager, []string{"currentSession"}, &manager)
	must(t, err)
	if manager.CurrentSession == nil || manager.CurrentSession.UserName != s.Username() {
		t.Errorf("its own session is %+v", manager.CurrentSession)
	}
}

func TestFiveRejectedLoginsLockTheAccountWhicheverClientSendsThem(t *testing.T) {
	s, _ := start(t, sim.Options{})
	synctest.Test(t, func(t *testing.T) {
		login := func(password string) bool {
			u, err := url.Parse(s.URL)
			must(t, err)
			sc := soap.NewClient(u, false)
			sc.Transport = s.Transport()
			vc, err := vim25.NewClient(t.Context(), sc)
			must(t, err)
			_, err = methods.Login(t.Context(), vc, &types.Login{This: *vc.ServiceContent.SessionManager, UserName: s.Username(), Password: password})
			if err != nil && !fault.Is(err, &types.InvalidLogin{}) {
				t.Fatal(err)
			}
			return err == nil
		}
		for range 4 {
			login("wrong")
		}
		<-time.After(3 * time.Minute)
		login("wrong")
		if !login(s.Password()) {
			t.Error("locked by five rejections in more than three minutes")
		}
		for range 5 {
			login("wrong")
		}
		if login(s.Password()) {
			t.Error("not locked by five rejections in three minutes")
		}
		<-time.After(5*time.Minute - time.Second)
		if login(s.Password()) {
			t.Error("unlocked too early")
		}
		<-time.After(time.Second)
		if !login(s.Password()) {
			t.Error("not unlocked after five minutes")
		}
		if rejected, locked := s.RejectedLogins(); rejected != 12 || locked != 1 {
			t.Errorf("%d rejected logins, locked %d times", rejected, locked)
		}
	})
}

// TestAVCenterThatHasStartedRejectsEveryLoginForAWhile: these do not count for a lockout, because only the token
// service counts rejections.
func TestAVCenterThatHasStartedRejectsEveryLoginForAWhile(t *testing.T) {
	s, _ := start(t, sim.Options{TokenServiceStart: time.Minute})
	synctest.Test(t, func(t *testing.T) {
		login := func() bool {
			u, err := url.Parse(s.URL)
			must(t, err)
			sc := soap.NewClient(u, false)
			sc.Transport = s.Transport()
			vc, err := vim25.NewClient(t.Context(), sc)
			must(t, err)
			_, err = methods.Login(t.Context(), vc, &types.Login{This: *vc.ServiceContent.SessionManager, UserName: s.Username(), Password: s.Password()})
			if err != nil && !fault.Is(err, &types.InvalidLogin{}) {
				t.Fatal(err)
			}
			return err == nil
		}
		s.EndLogins() // as a restart does
		for range 10 {
			if login() {
				t.Error("accepted before the token service runs")
			}
		}
		<-time.After(time.Minute)
		if !login() {
			t.Error("rejected although the token service runs")
		}
		if rejected, locked := s.RejectedLogins(); rejected != 10 || locked != 0 {
			t.Errorf("%d rejected logins, locked %d times", rejected, locked)
		}
	})
}

func TestWithoutAPermissionOnTheRootObjectTasksEventsAndPagesAreHidden(t *testing.T) {
	for _, lenient := range []bool{false, true} {
		s, _ := start(t, sim.Options{NoRootPermission: true, RootLenient: lenient})
		h := restricted(t, s)
		_, err := h.Running(h.ctx)
		if got := err == nil; got != lenient {
			t.Errorf("lenient %t: recent tasks: %v", lenient, err)
		}
		_, err = methods.QueryEvents(h.ctx, h.Client(), &types.QueryEvents{This: *h.Client().ServiceContent.EventManager})
		if got := err == nil; got != lenient {
			t.Errorf("lenient %t: events: %v", lenient, err)
		}
		_, err = methods.ContinueRetrievePropertiesEx(h.ctx, h.Client(), &types.ContinueRetrievePropertiesEx{This: h.Client().ServiceContent.PropertyCollector, Token: "1"})
		if got := fault.Is(err, &types.NoPermission{}); got == lenient {
			t.Errorf("lenient %t: a page: %v", lenient, err)
		}
		must(t, h.clone(template, root, "vm", nil))
		task, err := h.vm(root + "/vm").Destroy(h.ctx)
		must(t, err)
		await.Until(t, "the task to be hidden", func(context.Context) (bool, error) {
			var hidden mo.Task
			err := property.DefaultCollector(h.Client()).RetrieveOne(h.ctx, task.Reference(), []string{"info.state"}, &hidden)
			return fault.Is(err, &types.NoPermission{}), nil
		})
	}
}
