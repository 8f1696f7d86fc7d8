// Loaded before the server: its wall clock is what the harness says it is. The server itself has no such switch.
let offsetMs = 0
const Wall = Date
const now = Wall.now

globalThis.Date = class extends Wall {
  constructor(...given) {
    super(...(given.length === 0 ? [now() + offsetMs] : given))
  }
  static now = () => now() + offsetMs
}

process.on('message', (message) => {
  offsetMs = message.offsetMs
})
// Nothing of a harness that is gone may stay, and the channel must not keep a server alive that has closed.
process.on('disconnect', () => process.exit(1))
process.channel?.unref()
