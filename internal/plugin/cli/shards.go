package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
	"github.com/codeconnect/vmgroup-operator/internal/shards"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

func shardsCommand(o *Options) *cobra.Command {
	var of, member string
	c := &cobra.Command{
		Use: "shards", Short: "Tell which replica of the operator holds which share of the groups", Args: cobra.NoArgs,
		Long: `Reads the shard map and the replicas' Leases on the hub. With --of, the first line names the replica that holds one group. The command then exits
with 1 if no replica holds that group.`,
		Example: `# How many buckets each replica holds, and which one leads
kubectl vmgroup shards

# Which replica holds group web in namespace shop of member team-a
kubectl vmgroup shards --of shop/web --member team-a`,
		RunE: func(c *cobra.Command, _ []string) error { return printShards(c, o, of, member) },
	}
	c.Flags().StringVar(&of, "of", "", "VmGroup whose holder to print, as NAMESPACE/NAME. It does not have to exist.")
	c.Flags().StringVar(&member, "member", "", "MemberCluster of the VmGroup.")
	c.MarkFlagsRequiredTogether("of", "member")
	return c
}

func printShards(c *cobra.Command, o *Options, of, member string) error {
	namespace, name, ok := strings.Cut(of, "/")
	if of != "" && (!ok || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0) {
		return cluster.Usage("--of %q is not of the form NAMESPACE/NAME.", of)
	}
	hub, err := o.readHub(c)
	if err != nil {
		return err
	}
	uid := ""
	if of != "" {
		mc, err := findMember(c.Context(), hub, member)
		if err != nil {
			return err
		}
		if uid = mc.Status.ClusterUID; uid == "" {
			return cluster.NotWell("The hub does not serve member %q yet, so no replica holds its groups. See kubectl vmgroup member check %s.", member, member)
		}
	}
	snapshot, err := shards.Read(c.Context(), hub.Config, o.namespace)
	if err != nil {
		return cluster.Explain(hub.Context, hub.Config.Host, err)
	}
	held := true
	if of != "" && snapshot.Found {
		bucket := shards.BucketOf(snapshot, uid, namespace, name)
		var holder string
		holder, held = holderOf(snapshot, bucket)
		_, _ = fmt.Fprintf(o.Out, "%s of %s: bucket %d, %s\n", of, member, bucket, holder)
	}
	if err := shards.Print(o.Out, snapshot, o.Now()); err != nil {
		return err
	}
	if !held || of != "" && !snapshot.Found {
		return cluster.NotWell("No replica holds %s of member %q.", of, member)
	}
	return nil
}

// holderOf describes who holds a bucket. held is true if a session does whose Lease exists.
func holderOf(s shards.Snapshot, bucket int) (holder string, held bool) {
	session := s.Ring.Buckets[bucket].Holder
	if session == "" {
		return "held by no replica: one takes it within seconds", false
	}
	for _, of := range s.Sessions {
		if of.Session != session {
			continue
		}
		host := "a replica without a name"
		if of.Host != "" {
			host = untrusted.Name(of.Host)
		}
		return fmt.Sprintf("held by %s (session %s, %s)", host, untrusted.Name(session), untrusted.Name(string(cmp.Or(of.State, "unknown")))), true
	}
	return fmt.Sprintf("held by session %s, which has no Lease any more: another replica takes it within seconds", untrusted.Name(session)), false
}
