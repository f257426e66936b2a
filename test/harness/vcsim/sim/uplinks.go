package sim

import (
	"strings"

	"github.com/vmware/govmomi/simulator"
)

// markUplinks marks the uplink port groups of a new model's distributed switches, as vCenter does.
func markUplinks(all *simulator.Registry) {
	for _, o := range all.All("DistributedVirtualSwitch") {
		dvs, ok := o.(*simulator.DistributedVirtualSwitch)
		if !ok {
			continue
		}
		for _, ref := range dvs.Portgroup {
			group, ok := all.Get(ref).(*simulator.DistributedVirtualPortgroup)
			if ok && strings.HasPrefix(group.Name, dvs.Name+"-DVUplinks") {
				config := dvs.Config.GetDVSConfigInfo()
				config.UplinkPortgroup = append(config.UplinkPortgroup, ref)
			}
		}
	}
}
