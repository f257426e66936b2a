package cli

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/job"
)

// vcenterCheck are the flags of manager check vcenter that make sense in a Job.
type vcenterCheck struct {
	*Options
	probe             bool
	probeTime, settle time.Duration
	templates         []string
	output            string
}

// checkTime is how long a check without a probe takes at most.
const checkTime = 6 * time.Minute

func vcenterCheckCommand(o *Options) *cobra.Command {
	v := &vcenterCheck{Options: o}
	c := &cobra.Command{
		Use: "check NAME", Short: "Check whether a VCenter will work, in a Job on the hub", Args: cobra.ExactArgs(1),
		Long: `Runs manager check vcenter in a Job in the operator's namespace, with the image, the ServiceAccount and the network of the operator, and deletes the Job. You
need the permission to create and delete Jobs and to read Pods and their logs there. The check takes up to five minutes, and sends one login. It changes nothing in
vCenter, unless --probe makes and removes one VM. Exits with 1 if a check fails, and with 3 if no vCenter answers.`,
		RunE: func(c *cobra.Command, names []string) error { return v.run(c, names[0]) },
	}
	flags := c.Flags()
	flags.BoolVar(&v.probe, "probe", false, "Clone one VM, power it on, check it, and remove it.")
	flags.DurationVar(&v.probeTime, "probe-time", 3*time.Minute, "After how long a probe sends nothing more.")
	flags.DurationVar(&v.settle, "settle", 3*time.Minute, "How long after the login the sessions are counted again; 0 for not at all.")
	flags.StringSliceVar(&v.templates, "template", nil, "Names or paths of templates to check. The default is all that the settings allow.")
	flags.StringVarP(&v.output, "output", "o", "table", "table, or json for a report without names that you can publish.")
	return c
}

func (v *vcenterCheck) run(c *cobra.Command, name string) error {
	hub, err := v.openHub(c)
	if err != nil {
		return err
	}
	err = hub.Get(c.Context(), types.NamespacedName{Name: name}, &v1alpha1.VCenter{})
	if apierrors.IsNotFound(err) {
		return cluster.Usage("The hub has no VCenter %q. To list all: kubectl vmgroup vcenter list", name)
	}
	if err != nil {
		return cluster.Explain(hub.Context, hub.Config.Host, err)
	}
	operator := &appsv1.Deployment{}
	err = hub.Get(c.Context(), types.NamespacedName{Namespace: v.namespace, Name: job.Deployment}, operator)
	if apierrors.IsNotFound(err) {
		return cluster.Usage("Namespace %q of the hub has no Deployment %q. Set --operator-namespace.", v.namespace, job.Deployment)
	}
	if err != nil {
		return cluster.Explain(hub.Context, hub.Config.Host, err)
	}
	check, err := job.Of(operator, "vmgroup-operator-check-", checkTime+v.probeTime, v.arguments(name)...)
	if err != nil {
		return cluster.Usage("%v.", err)
	}
	_, _ = fmt.Fprintf(v.ErrOut, "Checking VCenter %q in a Job in namespace %q, which takes up to five minutes.\n", name, v.namespace)
	switch code, err := job.Run(c.Context(), hub, check, v.Out); {
	case err != nil:
		return err
	case code == 0:
		return nil
	case code == cluster.ExitUnreachable:
		return &cluster.Failure{Code: cluster.ExitUnreachable, Sentence: "No vCenter answers."}
	default:
		return cluster.NotWell("The check of VCenter %q fails.", name)
	}
}

// arguments returns the command line of the manager.
func (v *vcenterCheck) arguments(name string) []string {
	args := []string{"check", "vcenter", name, "--output=" + v.output, "--probe-time=" + v.probeTime.String(), "--settle=" + v.settle.String()}
	if width := v.width(); width > 0 {
		args = append(args, "--columns="+strconv.Itoa(width))
	}
	if v.probe {
		args = append(args, "--probe")
	}
	for _, template := range v.templates {
		args = append(args, "--template="+template)
	}
	return args
}
