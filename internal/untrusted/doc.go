// Package untrusted bounds what the operator shows, decodes and keeps of values that others write: users of vCenter, guests, vCenters, API servers, and
// clients of the webhooks. Each of them can send megabytes, and characters that control a terminal or turn the direction of writing.
//
//   - Shown: the conditions of status, events, and the log pass [Text] where they leave; package logsink does this for the log. A name within a sentence of
//     the operator passes [Name] or [Quoted] as well, so that no reader takes it for the operator's words. Only a [Plain] name stands in a command. What is
//     compared, or looked up in vCenter, stays as it is. See ADR 0062.
//   - Decoded: [Scanner] and [Weight] estimate the memory of JSON before it is decoded. See ADR 0059.
//   - Kept: [MemorySize] is the memory of a decoded object. [RevisionMark] keeps the newest resourceVersion of a storage, and [MaxResourceVersion] and
//     [MaxContinue] bound two texts of API servers.
package untrusted
