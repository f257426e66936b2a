// Package untrusted limits what the operator displays, decodes and keeps of external values: from users of vCenter, guests, vCenters, API servers, and
// clients of the webhooks. Each of them can send megabytes, and characters that control a terminal or reverse the direction of text.
//
//   - Displayed: the conditions of status, events, and the log pass through [Text] on output; package logsink does this for the log. A name within a
//     sentence of the operator also passes through [Name] or [Quoted], so that readers do not mistake it for the operator's text. Only a [Plain] name can
//     be part of a command. Values that are compared, or looked up in vCenter, are not changed. See ADR 0062.
//   - Decoded: [Scanner] and [Weight] estimate the memory of JSON before it is decoded. See ADR 0059.
//   - Kept: [MemorySize] is the memory of a decoded object. [RevisionMark] keeps the newest resourceVersion of a storage. [MaxResourceVersion] and
//     [MaxContinue] limit two texts of API servers.
package untrusted
