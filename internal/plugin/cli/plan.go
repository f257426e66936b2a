package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/inquiry"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
	"github.com/codeconnect/vmgroup-operator/internal/term"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// planOptions are an edit that is not made.
type planOptions struct {
	*Options
	namespace, template                    string
	replicas, cpu, cores, memory, rootDisk int32
	files                                  resource.FilenameOptions
}

func planCommand(o *Options) *cobra.Command {
	p := &planOptions{Options: o}
	c := &cobra.Command{
		Use: "plan [NAME]", Short: "Show what an edit of a VmGroup would do, without making it", Args: cobra.MaximumNArgs(1),
		Long: `Sends the edit as a dry run. Policies and quotas decide about it as about the edit itself, and the operator answers what it would do in vCenter. You need
the permission to make the edit. Exits with 1 if the edit is refused.`,
		Example: `# Fewer and larger VMs
kubectl vmgroup plan web -n shop --replicas 3 --cpu 4

# The edit that kubectl apply -f web.yaml would make
kubectl vmgroup plan -f web.yaml`,
		RunE: func(c *cobra.Command, names []string) error { return p.run(c, names) },
	}
	flags := c.Flags()
	flags.StringVarP(&p.namespace, "namespace", "n", "", "Namespace of the VmGroup. The default is that of the file, or else of the context.")
	flags.StringSliceVarP(&p.files.Filenames, "filename", "f", nil, "File with VmGroups, or - for the standard input.")
	flags.Int32Var(&p.replicas, "replicas", 0, "New number of VMs.")
	flags.Int32Var(&p.cpu, "cpu", 0, "New number of CPUs of a VM.")
	flags.Int32Var(&p.cores, "cores-per-socket", 0, "New number of cores per socket of a VM. --cpu must be a multiple of it.")
	flags.Int32Var(&p.memory, "memory", 0, "New memory of a VM, in GiB.")
	flags.Int32Var(&p.rootDisk, "root-disk", 0, "New size of the root disk of a VM, in GiB.")
	flags.StringVar(&p.template, "template", "", "New template.")
	for _, name := range editFlags {
		c.MarkFlagsMutuallyExclusive("filename", name)
	}
	c.MarkFlagsOneRequired(append([]string{"filename"}, editFlags...)...)
	return c
}

// fieldOf names the fields whose flags have other names.
var fieldOf = map[string]string{"cores-per-socket": "coresPerSocket", "root-disk": "disks"}

// editFlags are the flags that are fields of spec.
var editFlags = []string{"replicas", "cpu", "cores-per-socket", "memory", "root-disk", "template"}

func (p *planOptions) run(c *cobra.Command, names []string) error {
	if (len(names) == 1) == (len(p.files.Filenames) > 0) {
		return cluster.Usage("Name a VmGroup and its new values, or a file by --filename.")
	}
	contexts, err := cluster.Load(c.Context(), p.flags)
	if err != nil {
		return err
	}
	heard := contexts.Collect()
	in, err := openMember(c.Context(), contexts)
	if err != nil {
		return err
	}
	edits, err := p.edits(c, names)
	if err != nil {
		return err
	}
	refused := 0
	for _, edit := range edits {
		if edit.GetNamespace() == "" {
			edit.SetNamespace(contexts.Namespace(in.Context))
		}
		before, after, err := dryRun(c.Context(), in, edit, len(names) > 0)
		warned := heard.Take()
		switch {
		case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
			refused++
			p.refusal(edit, err)
		case err != nil:
			return cluster.Explain(in.Context, in.Config.Host, err)
		default:
			p.result(before, after, warned)
		}
	}
	_, _ = fmt.Fprintln(p.ErrOut, "Nothing was changed.")
	if refused > 0 {
		return cluster.NotWell("The edit is refused.")
	}
	return nil
}

// edits returns objects with the fields that change.
func (p *planOptions) edits(c *cobra.Command, names []string) (edits []*unstructured.Unstructured, err error) {
	if len(names) > 0 {
		values := map[string]any{}
		for flag, value := range map[string]any{
			"replicas": int64(p.replicas), "cpu": int64(p.cpu), "cores-per-socket": int64(p.cores), "memory": int64(p.memory), "template": p.template,
			"root-disk": map[string]any{"root": map[string]any{"sizeGiB": int64(p.rootDisk)}},
		} {
			if c.Flags().Changed(flag) {
				values[cmp.Or(fieldOf[flag], flag)] = value
			}
		}
		edit := &unstructured.Unstructured{Object: map[string]any{"spec": values}}
		edit.SetName(names[0])
		edit.SetNamespace(p.namespace)
		return []*unstructured.Unstructured{edit}, nil
	}
	infos, err := resource.NewLocalBuilder().Unstructured().FilenameParam(false, &p.files).Flatten().Do().Infos()
	if err != nil {
		return nil, cluster.Usage("The file cannot be read: %v", err)
	}
	for _, info := range infos {
		edit, ok := info.Object.(*unstructured.Unstructured)
		if !ok || edit.GroupVersionKind() != v1alpha1.GroupVersion.WithKind("VmGroup") {
			continue
		}
		if p.namespace != "" {
			edit.SetNamespace(p.namespace)
		}
		edits = append(edits, edit)
	}
	if len(edits) == 0 {
		return nil, cluster.Usage("The file has no VmGroup of %s.", v1alpha1.GroupVersion)
	}
	return edits, nil
}

// dryRun sends an edit. before is nil for a new group. mustExist is true if the edit has only the fields that change.
func dryRun(ctx context.Context, in *cluster.Cluster, edit *unstructured.Unstructured, mustExist bool) (before, after *v1alpha1.VmGroup, err error) {
	before, after = &v1alpha1.VmGroup{}, &v1alpha1.VmGroup{}
	strict := client.WithFieldValidation(in.Client, metav1.FieldValidationStrict) // as kubectl does
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("VmGroup"))
	err = in.Get(ctx, client.ObjectKeyFromObject(edit), live)
	switch {
	case apierrors.IsNotFound(err) && !mustExist:
		err = strict.Create(ctx, edit, client.DryRunAll, client.FieldOwner(inquiry.Manager))
		return nil, after, errors.Join(err, convert(edit, after))
	case apierrors.IsNotFound(err):
		return nil, nil, cluster.Usage("Namespace %q of context %q has no VmGroup %q.", edit.GetNamespace(), in.Context, edit.GetName())
	case err != nil:
		return nil, nil, err
	}
	patch, err := applied(edit, live)
	if err != nil {
		return nil, nil, err
	}
	if err := convert(live, before); err != nil {
		return nil, nil, err
	}
	err = strict.Patch(ctx, live, client.RawPatch(types.MergePatchType, patch), client.DryRunAll, client.FieldOwner(inquiry.Manager))
	return before, after, errors.Join(err, convert(live, after))
}

// applied returns the patch that kubectl apply sends: it removes fields that were applied before and are missing now, and keeps those of others.
func applied(edit, live *unstructured.Unstructured) ([]byte, error) {
	edit = edit.DeepCopy()
	unstructured.RemoveNestedField(edit.Object, "status")
	modified, err := edit.MarshalJSON()
	if len(edit.GetKind()) == 0 { // only some fields of a named group
		modified, err = json.Marshal(edit.Object)
	}
	if err != nil {
		return nil, err
	}
	original := []byte(nil)
	if len(edit.GetKind()) > 0 {
		original = []byte(live.GetAnnotations()[corev1.LastAppliedConfigAnnotation])
	}
	current, err := live.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return jsonmergepatch.CreateThreeWayJSONMergePatch(original, modified, current)
}

// convert decodes an object. A JSON of another writer can differ from the type.
func convert(from *unstructured.Unstructured, to *v1alpha1.VmGroup) error {
	text, err := from.MarshalJSON()
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

func (p *planOptions) refusal(edit *unstructured.Unstructured, err error) {
	out := &steps{p.Out, p.style()}
	_, _ = fmt.Fprintf(p.Out, "VmGroup %q: the edit is refused.\n", edit.GetNamespace()+"/"+edit.GetName())
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil && len(status.Status().Details.Causes) > 0 {
		for _, cause := range status.Status().Details.Causes {
			out.line(term.Bad, strings.TrimPrefix(cause.Field+": "+cause.Message, ": "), "")
		}
		return
	}
	out.line(term.Bad, err.Error(), "")
}

func (p *planOptions) result(before, after *v1alpha1.VmGroup, warned []string) {
	out := &steps{p.Out, p.style()}
	answer, others, ok := inquiry.Parse[inquiry.Answer](warned)
	verdict := "the API server accepts the edit."
	if ok {
		verdict = "policies and quotas allow the edit."
	}
	_, _ = fmt.Fprintf(p.Out, "VmGroup %q: %s\n", after.Namespace+"/"+after.Name, verdict)
	if before == nil {
		out.line(term.Note, "it is new: "+sizeOf(after), "")
	} else {
		out.line(term.Note, "now: "+sizeOf(before), "")
		out.line(term.Note, "after the edit: "+sizeOf(after), "")
	}
	switch {
	case ok:
		for _, line := range planLines(answer.Plan) {
			out.line(line.mark, line.text, "")
		}
	case before != nil && apiequality.Semantic.DeepEqual(before.Spec, after.Spec):
		out.line(term.Note, "spec does not change: the operator does nothing", "")
	default:
		out.line(term.Unknown, "the operator did not answer, so what it does is not known", "")
	}
	for _, text := range append(answer.Notes, others...) {
		out.line(term.Warn, text, "")
	}
}

// sizeOf describes the VMs of a spec.
func sizeOf(g *v1alpha1.VmGroup) string {
	replicas := int32(1)
	if g.Spec.Replicas != nil {
		replicas = *g.Spec.Replicas
	}
	cpus := fmt.Sprintf("%d CPU", g.Spec.CPU)
	if n := g.Spec.CoresPerSocket; n != 0 {
		cpus += fmt.Sprintf(" in sockets of %d", n)
	}
	disk := ""
	if n := g.Spec.Shape().RootDiskGiB(); n != 0 {
		disk = fmt.Sprintf(", root disk %d GiB", n)
	}
	for _, d := range g.Spec.Shape().DataDisks() {
		disk += fmt.Sprintf(", data disk %s %d GiB", untrusted.Text(d.Name, 63), d.SizeGiB)
	}
	return fmt.Sprintf("%s (%s, %d GiB%s, template %s)", vmsOf(int(replicas)), cpus, g.Spec.Memory, disk, untrusted.Text(g.Spec.Template, 255))
}

func vmsOf(n int) string { return term.Count(n, "VM") }

// planLine is what the operator does to some VMs.
type planLine struct {
	mark term.Mark
	text string
}

// planLines describes a plan. VMs that are lost or stop have a mark of their own.
func planLines(p inquiry.Plan) (lines []planLine) {
	say := func(m term.Mark, n int, before, after string) {
		if n > 0 {
			lines = append(lines, planLine{m, before + " " + vmsOf(n) + after})
		}
	}
	turn := func(n int) string {
		if p.OneByOne && n > 1 {
			return ", one at a time"
		}
		return ""
	}
	if p.Unknown != "" {
		return []planLine{{term.Unknown, "what this does in vCenter is not known now: " + p.Unknown}}
	}
	say(term.Note, p.Adds, "clones", "")
	if p.Retained {
		say(term.Warn, p.Removes, "leaves", " in vCenter, unmanaged"+namesOf(p))
	} else {
		say(term.Warn, p.Removes, "destroys", ", with the disks"+namesOf(p))
	}
	say(term.Warn, p.PowersOff, "powers off", "")
	say(term.Note, p.PowersOn, "powers on", "")
	say(term.Warn, p.Replaces, "replaces", ", with the disks"+turn(p.Replaces))
	say(term.Warn, p.Restarts, "restarts", " to resize"+turn(p.Restarts))
	say(term.Note, p.Resizes, "resizes", " while on")
	say(term.Note, p.Grows, "grows disks of", " while on")
	say(term.Note, p.Extends, "adds disks to", " while on")
	say(term.Note, p.Connects, "connects", " to another network while on")
	if p.Surge > 0 {
		lines = append(lines, planLine{term.Note, fmt.Sprintf("needs quota for %s more during the update", vmsOf(p.Surge))})
	}
	for _, text := range p.Waits {
		lines = append(lines, planLine{term.Warn, text})
	}
	if len(lines) == 0 {
		lines = append(lines, planLine{term.Note, "the operator does nothing in vCenter"})
	}
	return lines
}

func namesOf(p inquiry.Plan) (text string) {
	for i, name := range p.Removed {
		if i > 0 {
			text += ","
		} else {
			text = ":"
		}
		text += " " + name
	}
	if rest := p.Removes - len(p.Removed); rest > 0 && len(p.Removed) > 0 {
		text += fmt.Sprintf(" and %d more", rest)
	}
	return text
}
