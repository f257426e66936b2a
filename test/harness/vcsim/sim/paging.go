package sim

import "github.com/vmware/govmomi/vim25/types"

// shrinkPage limits the objects in the answer of a call. vCenter can send fewer objects than a client requests.
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
