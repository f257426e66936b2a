package session

import (
	"reflect"
	"strings"

	"github.com/vmware/govmomi/vim25/soap"
)

// readOnly are the methods that change nothing in the inventory: they need no fence. Views, collectors and
// filters are state of our own login and die with it.
var readOnly = map[string]bool{
	"RetrieveServiceContent":       true,
	"CurrentTime":                  true,
	"Login":                        true,
	"Logout":                       true,
	"SessionIsActive":              true,
	"RetrieveProperties":           true,
	"RetrievePropertiesEx":         true,
	"ContinueRetrievePropertiesEx": true,
	"CancelRetrievePropertiesEx":   true,
	"CreatePropertyCollector":      true,
	"DestroyPropertyCollector":     true,
	"CreateFilter":                 true,
	"DestroyPropertyFilter":        true,
	"WaitForUpdatesEx":             true,
	"CancelWaitForUpdates":         true,
	"CreateContainerView":          true,
	"DestroyView":                  true,
	"FindByInventoryPath":          true,
	"FindChild":                    true,
	"FindAllByUuid":                true,
	"HasPrivilegeOnEntities":       true,
	"HasUserPrivilegeOnEntities":   true,
	"FetchUserPrivilegeOnEntities": true,
	"QueryEvents":                  true,
}

// repeatable are the reads that may be sent again when it is not known whether the server had them. A page of an answer is handed out
// once, and so is a piece of news; whoever reads those begins anew. A second filter would tell everything twice, and a second login is one more session.
var repeatable = map[string]bool{
	"RetrieveServiceContent":       true,
	"CurrentTime":                  true,
	"SessionIsActive":              true,
	"RetrieveProperties":           true,
	"RetrievePropertiesEx":         true,
	"CreatePropertyCollector":      true,
	"CreateContainerView":          true,
	"FindByInventoryPath":          true,
	"FindChild":                    true,
	"FindAllByUuid":                true,
	"HasPrivilegeOnEntities":       true,
	"HasUserPrivilegeOnEntities":   true,
	"FetchUserPrivilegeOnEntities": true,
	"QueryEvents":                  true,
}

// methodOf returns the name of the vSphere method that a request calls: govmomi names the type of the
// envelope body after it.
func methodOf(req soap.HasFault) string {
	t := reflect.TypeOf(req)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return strings.TrimSuffix(t.Name(), "Body")
}

// ReadOnly reports whether a vSphere method is known to change nothing.
func ReadOnly(method string) bool { return readOnly[method] }
