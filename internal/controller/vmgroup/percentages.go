package vmgroup

import "slices"

// Percentages returns the groups of a member whose specs have percentages, as namespace/name, in order. known is false while not all groups of the
// member have been listed. It reads memory.
func (g *Groups) Percentages(member string) (groups []string, known bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, known = g.members[member]; !known {
		return nil, false
	}
	for _, entry := range g.byKey {
		if entry.percentages && string(entry.request.ClusterName) == member {
			groups = append(groups, entry.request.Namespace+"/"+entry.request.Name)
		}
	}
	slices.Sort(groups)
	return groups, true
}
