import type { Engine, Intent } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import { hasBody } from './has-body.ts'

/**
 * A message about a task need not repeat what the task is about: what it leaves out is taken from the stored challenge.
 * A call's body is not stored and must be repeated.
 */
export async function completeIntent(
  engine: Pick<Engine, 'inspect'>,
  intent: Intent,
): Promise<Intent | GatewayError> {
  const { challengeId, planId, routeId, requestId, call } = intent
  const whole = requestId !== undefined && (planId !== undefined || (routeId !== undefined && call))
  if (challengeId === undefined || whole) return intent
  const challenge = (await engine.inspect(challengeId))?.challenge
  if (!challenge) return intent
  const completed: Intent = { ...intent, requestId: requestId ?? challenge.requestId }
  completed.resourceId ??= challenge.resourceId
  if (planId === undefined && routeId === undefined) {
    if (challenge.kind === 'plan') completed.planId = challenge.itemId
    else completed.routeId = challenge.itemId
  }
  if (challenge.kind === 'plan' || challenge.resource === null || call) return completed
  if (hasBody(challenge)) {
    return new GatewayError(
      'RESOURCE_REQUIRED',
      'The call was asked for with a body, which is not stored: repeat resource {method, path, body} in an AccessRequest data part.',
      { challengeId },
    )
  }
  return { ...completed, call: { ...challenge.resource, headers: {}, body: null } }
}
