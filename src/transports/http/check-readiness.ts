/** Runs every check at once; one that rejects is named with its reason. */
export async function checkReadiness(
  checks: Record<string, () => Promise<void>>,
): Promise<{ ok: boolean; checks: Record<string, string> }> {
  const results = await Promise.all(
    Object.entries(checks).map(async ([name, check]): Promise<[string, string]> => {
      try {
        await check()
        return [name, 'ok']
      } catch (cause) {
        return [name, cause instanceof Error ? cause.message : 'failed']
      }
    }),
  )
  return { ok: results.every(([, result]) => result === 'ok'), checks: Object.fromEntries(results) }
}
