package sim

import "github.com/vmware/govmomi/vim25/types"

// shrinkPage has a call get at most so many objects in one answer. vCenter is free to send fewer than a client asks for.
func shrinkPage(call any, most int32) {
	if most == 0 {
		return
	}
	switch req := call.(type) {
	case *types.RetrievePropertiesEx:
		if asked := req.Options.MaxObjects; asked == 0 || asked > most {
			req.Options.MaxObjects = most
		}
	case *types.WaitForUpdatesEx:
		if req.Options == nil {
			req.Options = &types.WaitOptions{}
		}
		if asked := req.Options.MaxObjectUpdates; asked == 0 || asked > most {
			req.Options.MaxObjectUpdates = most
		}
	}
}
