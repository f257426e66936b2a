package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/check/health"
	checked "github.com/codeconnect/vmgroup-operator/internal/check/vcenter"
	"github.com/codeconnect/vmgroup-operator/internal/controller/vcenter"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/logins"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/survey"
)

const (
	// exitUnreachable is the exit code if vCenter does not respond.
	exitUnreachable = 3
	// mostProbeTime is the maximum of --probe-time. It is less than the hour for which the operator searches for a
	// clone: see govmomi.
	mostProbeTime = 30 * time.Minute
	// recordTime limits the write of the result.
	recordTime = 15 * time.Second
	// defaultColumns is the width if $COLUMNS is not set.
	defaultColumns = 120
)

var (
	errVCenterFails       = errors.New("a check of the vCenter fails")
	errVCenterUnreachable = errors.New("the vCenter does not answer")
	errNameOrServer       = errors.New("name a VCenter of the hub, or a server with --server")
	errOutput             = errors.New("-o must be table or json")
	errTimes              = errors.New("--settle must not be negative, --timeout must be positive, and --probe-time must be between 1m and 30m")
)

type vcenterCheck struct {
	namespace string
	// version of this program.
	version string
	serverFlags
	templates                  []string
	probe                      bool
	settle, probeTime, timeout time.Duration
	output                     string
	columns                    int
}

func checkVCenterCommand(version string) *cobra.Command {
	o := vcenterCheck{version: version}
	c := &cobra.Command{
		Use: "vcenter [NAME]", Short: "Check whether a vCenter will work", Args: cobra.MaximumNArgs(1),
		Long: `manager check vcenter says within five minutes whether the operator can work with a vCenter, and if not, what to do.

NAME is a VCenter on the hub: the check takes its settings and its Secret, and records in its status that it passed. With --server it needs no hub. It then takes
user name and password from the environment variables VC_USER and VC_PASS, or from the file of --credentials.

It changes nothing in vCenter, unless --probe makes and removes one VM. It sends one login. It never sends a user name and password again that vCenter has rejected.

It exits with 0, with 1 if a check fails, and with 3 if no vCenter answers.`,
		RunE: func(c *cobra.Command, args []string) error {
			name := ""
			if len(args) > 0 {
				name = args[0]
			}
			return o.run(c.Context(), name, c.OutOrStdout())
		},
	}
	flags := c.Flags()
	NamespaceFlag(flags, &o.namespace)
	o.addServer(flags)
	flags.StringSliceVar(&o.templates, "template", nil, "Names or paths of templates to check; empty means all that the settings allow.")
	flags.BoolVar(&o.probe, "probe", false, "Clone one VM, power it on, check it, and remove it.")
	flags.DurationVar(&o.probeTime, "probe-time", 3*time.Minute, "After how long a probe sends nothing more. A full clone of a large template takes longer.")
	flags.DurationVar(&o.settle, "settle", 3*time.Minute, "How long after the login the sessions are counted again; 0 for not at all.")
	flags.DurationVar(&o.timeout, "timeout", 5*time.Minute, "How long the check may take, besides the time of a probe.")
	flags.StringVarP(&o.output, "output", "o", "table", "table, or json for a report without names that you can publish.")
	columns, _ := strconv.Atoi(os.Getenv("COLUMNS"))
	flags.IntVar(&o.columns, "columns", cmp.Or(columns, defaultColumns), "Width of the table; $COLUMNS if that is set.")
	return c
}

// run checks a VCenter of the hub, or the server of the flags.
func (o *vcenterCheck) run(ctx context.Context, name string, out io.Writer) error {
	switch {
	case (name == "") == (o.server == ""), name != "" && o.used:
		return errNameOrServer
	case o.output != "table" && o.output != "json":
		return errOutput
	case o.settle < 0 || o.timeout <= 0 || o.probeTime < time.Minute || o.probeTime > mostProbeTime:
		return errTimes
	}
	r := vcenterRun{o: o, name: name, dialer: new(net.Dialer)}
	if name == "" {
		return r.ofServer(ctx, out)
	}
	kubeconfig, err := config.GetConfig()
	if err != nil {
		return fmt.Errorf("find the hub's API server: %w", err)
	}
	hub, err := health.Client(kubeconfig)
	if err != nil {
		return err
	}
	core, err := corev1client.NewForConfig(kubeconfig)
	if err != nil {
		return fmt.Errorf("connect to the hub: %w", err)
	}
	r.hub, r.memory = byName{hub}, &vcenter.LoginMemory{Client: core.Secrets(o.namespace)}
	return r.ofVCenter(ctx, out)
}

type vcenterRun struct {
	o    *vcenterCheck
	name string
	hub  client.Client
	// memory of logins that the replicas share.
	memory logins.Store
	dialer session.Dialer
	// transport connects to a server in the same process; nil for network connections.
	transport http.RoundTripper
}

// ofServer checks the server of the flags. It does not store rejected logins beyond this process.
func (r *vcenterRun) ofServer(ctx context.Context, out io.Writer) error {
	c, err := r.o.serverConfig()
	if err != nil {
		return err
	}
	keeper := logins.New(logins.Options{Store: new(logins.Memory), Now: time.Now})
	f := r.look(ctx, c, keeper)
	return r.report(out, f, checked.Judge(f, checked.Settings{Network: c.Network != ""}))
}

// ofVCenter checks a VCenter with the operator's settings, and records that it passed.
func (r *vcenterRun) ofVCenter(ctx context.Context, out io.Writer) error {
	vc := &v1alpha1.VCenter{}
	if err := r.hub.Get(ctx, client.ObjectKey{Name: r.name}, vc); err != nil {
		return fmt.Errorf("read VCenter %q: %w", r.name, err)
	}
	c, err := vcenter.ReadConfig(ctx, r.hub, r.o.namespace, vc)
	if err != nil {
		return err
	}
	keeper := logins.New(logins.Options{Store: requiredMemory{r.memory}, Boot: "check-" + uuid.NewString(), Now: time.Now})
	f := r.look(ctx, c, keeper)
	found := checked.Judge(f, checked.Settings{VCenter: r.name, Namespace: r.o.namespace, Secret: c.Secret, Network: c.Network != ""})
	return r.report(out, f, append(found, r.record(ctx, vc, f, found)...))
}

func (r *vcenterRun) look(ctx context.Context, c vcenter.Config, keeper *logins.Keeper) *survey.Facts {
	longest := r.o.timeout
	if r.o.probe {
		longest += r.o.probeTime
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	// The mark has the length of a replica's mark, but belongs to no installation. So no replica ends this session as
	// one of its own.
	identity := session.Identity{Installation: uuid.NewString(), VCenter: cmp.Or(r.name, "check"), Process: &session.Process{Boot: uuid.NewString()}}
	login := c.Session("vmgroup-operator/"+r.o.version, keeper.Gate(c.URL, c.Username, c.Password, c.Attempt).Once(), identity)
	login.Transport = r.transport
	return govmomi.Survey(ctx, govmomi.SurveyOptions{
		Config: govmomi.Config{
			Name: c.Name, Session: login, Datacenter: c.Datacenter, RootFolder: c.Folder, ResourcePool: c.ResourcePool, Datastore: c.Datastore, Network: c.Network,
			TemplateFolders: c.TemplateFolders,
		},
		Templates: r.o.templates, Dialer: r.dialer, Settle: r.o.settle, Probe: r.o.probe, ProbeTime: r.o.probeTime,
	})
}

// report prints the findings, and returns an error if a check fails.
func (r *vcenterRun) report(out io.Writer, f *survey.Facts, found []checked.Finding) error {
	var err error
	if r.o.output == "json" {
		err = checked.NewReport(f, found, r.o.version).Write(out)
	} else {
		err = checked.Print(out, found, r.o.columns)
	}
	switch {
	case err != nil:
		return fmt.Errorf("print: %w", err)
	case checked.Unreachable(f):
		return errVCenterUnreachable
	case checked.Worst(found) == checked.Fail:
		return errVCenterFails
	}
	return nil
}

// record writes to status that the check passed. It changes no other field, so that it does not interfere with
// replicas. It does not record a failed check: the last one that passed stays.
func (r *vcenterRun) record(ctx context.Context, vc *v1alpha1.VCenter, f *survey.Facts, found []checked.Finding) []checked.Finding {
	if checked.Worst(found) == checked.Fail || f.Server.About == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, recordTime)
	defer cancel()
	const longest = 64
	base := vc.DeepCopy()
	vc.Status.Check = &v1alpha1.VCenterCheck{
		Time: metav1.NewTime(f.Began.Truncate(time.Second)), Version: untrusted.Text(f.Server.About.Version, longest), Build: untrusted.Text(f.Server.About.Build, longest),
		Operator: untrusted.Text(r.o.version, longest),
	}
	for _, x := range found {
		if x.Level == checked.Warn {
			vc.Status.Check.Warnings++
		}
	}
	if err := r.hub.Status().Patch(ctx, vc, client.MergeFrom(base)); err != nil {
		return []checked.Finding{{Step: "status", ID: "not-recorded", Level: checked.Warn, Says: "The result is not in the status of the VCenter: " + oneLine(err),
			Fix: "Give your account patch on vcenters/status, or run the check in a Pod of the operator."}}
	}
	return nil
}

// requiredMemory is a memory of logins without which no login is sent: each run of the check is another process.
type requiredMemory struct{ logins.Store }

// Load implements logins.Store.
func (m requiredMemory) Load(ctx context.Context) (logins.Book, error) {
	book, err := m.Store.Load(ctx)
	if errors.Is(err, logins.ErrNoStore) {
		return book, fmt.Errorf("the check sends no login without the operator's memory of logins: %s. Apply the installation's manifests again, or use --server", oneLine(err))
	}
	return book, err
}
