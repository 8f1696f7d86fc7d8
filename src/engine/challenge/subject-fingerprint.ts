import type { Subject } from '../../ports.ts'
import { fingerprint, resourceHash } from '../../rules/terms.ts'

/** The same requestId with another fingerprint is another purchase. */
export function subjectFingerprint(subject: Subject): string {
  return fingerprint({
    kind: subject.kind,
    itemId: subject.kind === 'plan' ? subject.planId : subject.routeId,
    resourceId: subject.resourceId,
    resourceHash: resourceHash(subject),
  })
}
