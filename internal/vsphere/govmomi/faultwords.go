package govmomi

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// worded is a vCenter fault with a text for users.
type worded struct {
	error
	words string
}

func (w worded) Error() string { return w.words }
func (w worded) Unwrap() error { return w.error }

// inWords gives the error of a fault a text for users. It returns other errors unchanged.
func inWords(err error) error {
	var f types.BaseMethodFault
	if _, found := fault.As(err, &f); !found {
		return err
	}
	return worded{err, faultText(f, messageOf(err))}
}

// faultText returns vCenter's text of a fault or, if that text is not meant for users, our own. It includes the fault's name, which
// users can search for.
func faultText(f types.BaseMethodFault, message string) string {
	if f == nil {
		return cmp.Or(message, unexplained)
	}
	name := nameOf(f)
	if message == "" || strings.Contains(message, "types.") || strings.Trim(message, ".") == name {
		message = wordsFor(f)
	}
	return fmt.Sprintf("%s (vCenter's fault %s)", strings.TrimRight(message, ". "), name)
}

// messageOf returns the server's own message.
func messageOf(err error) string {
	var task taskError
	if errors.As(err, &task) {
		return task.fault.LocalizedMessage
	}
	for ; err != nil; err = errors.Unwrap(err) {
		if soap.IsSoapFault(err) {
			return soap.ToSoapFault(err).String
		}
	}
	return ""
}

// nameOf returns the name of a fault in the vSphere API, for example NoPermission.
func nameOf(f types.BaseMethodFault) string {
	t := reflect.TypeOf(f)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}

const unexplained = "vCenter refuses this: its task and its log have the reason"

// wording is the text for a class of faults. The first match wins, so special faults come first.
type wording struct {
	matches func(types.BaseMethodFault) bool
	words   string
}

func fits[T any](f types.BaseMethodFault) bool {
	_, ok := f.(T)
	return ok
}

var wordings = []wording{
	{fits[*types.NotAuthenticated], "the session has ended; the operator logs in again"},
	{fits[types.BaseInvalidLogin], "the user name or the password is wrong"},
	{fits[types.BaseNoPermission], "the operator's account lacks a privilege"},
	{fits[*types.DuplicateName], "the name is taken in this folder"},
	{fits[*types.AlreadyExists], "something of that name is there already"},
	{fits[*types.ManagedObjectNotFound], "the object does not exist any more"},
	{fits[*types.NotFound], "something that was named does not exist"},
	{fits[*types.NoDiskSpace], "the datastore is full: free space on it, or choose another one"},
	{fits[*types.NoCompatibleHost], "no host can run the VM: check its size, its network and its datastore"},
	{fits[*types.GenericDrsFault], "DRS finds no host for the VM: check the faults of the cluster (Monitor, vSphere DRS, Faults)"},
	{fits[*types.InsufficientFailoverResourcesFault], "admission control of vSphere HA keeps the rest of the cluster for the failure of a host: free some CPU and memory, add a host, or change the policy"},
	{fits[types.BaseInsufficientResourcesFault], "the resource pool or cluster has too little CPU, memory or storage left: free some, or raise its limits"},
	{fits[*types.InaccessibleDatastore], "the datastore cannot be reached from the host: bring its storage back"},
	{fits[types.BaseInvalidDatastore], "the datastore cannot be used for this: choose another one"},
	{fits[types.BaseHostConnectFault], "vCenter cannot connect to the host: bring it back"},
	{fits[types.BaseHostCommunication], "vCenter cannot reach the host: bring it back"},
	{fits[types.BaseTimedout], "it took too long; it is tried again"},
	{fits[*types.MethodDisabled], "another product, such as a backup, has locked the object against this: wait for its end, or unlock it there"},
	{fits[*types.QuestionPending], "the VM waits for an answer: answer its question in the vSphere Client"},
	{fits[*types.FileLocked], "a file of the VM is locked, for example by a backup: wait for its end"},
	{fits[*types.TooManyConcurrentNativeClones], "the storage makes too many clones now; it is tried again"},
	{fits[*types.ConcurrentAccess], "the object was changed at the same time; it is tried again"},
	{fits[types.BaseTaskInProgress], "another task of this object is running; it is tried again"},
	{fits[types.BaseResourceInUse], "it is in use"},
	{fits[*types.InvalidPowerState], "the VM's power state does not allow this"},
	{fits[*types.InvalidHostState], "the host is in maintenance mode, or vCenter does not reach it: bring it back"},
	{fits[*types.CannotAccessNetwork], "a host does not reach a network of the VM: connect the host to it, or name another network"},
	{fits[types.BaseCannotAccessVmComponent], "the host does not reach a part of the VM: check its datastore and network"},
	{fits[*types.CannotAccessFile], "a file of the VM or template cannot be read there: check that the hosts reach its datastore"},
	{fits[types.BaseInvalidState], "the state of the object does not allow this now: check it in the vSphere Client"},
	{fits[types.BaseNotEnoughLicenses], "a license is missing: check the licenses of vCenter and its hosts"},
	{fits[*types.RestrictedVersion], "the license of the host does not allow this"},
	{fits[types.BaseNotSupported], "the object does not support this: a template, for example, has to be converted to a virtual machine first"},
	{fits[types.BaseInvalidArgument], "vCenter takes a value for wrong"},
	{fits[*types.InvalidName], "vCenter does not allow the name"},
	{fits[types.BaseCustomizationFault], "the guest cannot be customized: check the template's guest"},
	{fits[*types.CpuHotPlugNotSupported], "the number of CPUs can be changed only while the VM is powered off"},
	{fits[*types.MemoryHotPlugNotSupported], "the memory can be changed to this only while the VM is powered off"},
	{fits[*types.RequestCanceled], "the task was canceled in vCenter"},
	{fits[*types.GenericVmConfigFault], "the host cannot use the VM as it is now: the events of the VM have the reason"},
	{fits[types.BaseVmConfigFault], "the VM's configuration does not fit the host: check the template's hardware"},
	{fits[types.BaseFileFault], "a file of the VM could not be read or written: check its datastore"},
	{fits[types.BaseMigrationFault], "the VM cannot be moved"},
	{fits[types.BaseSnapshotFault], "a snapshot of the VM stands in the way"},
	{fits[types.BaseGuestOperationsFault], "the guest does not do what was asked of it"},
	{fits[*types.NotImplemented], "this vCenter cannot do that: check its version"},
	{fits[*types.OutOfBounds], "a limit of vCenter is reached"},
	{fits[types.BaseRuntimeFault], "vCenter has failed inside: its log has the reason"},
}

func wordsFor(f types.BaseMethodFault) string {
	for _, w := range wordings {
		if w.matches(f) {
			return w.words
		}
	}
	return unexplained
}
