/** What every HTTP handler of the tests is given, whatever it sells. */
export const handlerParts = {
  version: '1',
  networkIds: ['eip155:84532'],
  storeName: 'memory',
  limits: { maxBodyBytes: 100, requestTimeoutMs: 1000 },
  uptimeSeconds: () => 1,
  ready: async () => ({ ok: true, checks: {} }),
}
