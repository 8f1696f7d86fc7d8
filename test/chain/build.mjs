// Compiles the dev chain's contracts into src/testing/*.json.
//   node test/chain/build.mjs          write the artifacts
//   node test/chain/build.mjs --check  exit 1, naming the file, if an artifact is not what its source compiles to
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import solc from 'solc'

const contracts = [
  { name: 'TestUsdc', artifact: 'test-usdc.json' },
  { name: 'TestUsdcProxy', artifact: 'test-usdc-proxy.json' },
  { name: 'TestWallet1271', artifact: 'test-wallet-1271.json' },
  { name: 'TestMulticall3', artifact: 'test-multicall3.json' },
  { name: 'TestPermit2', artifact: 'test-permit2.json' },
  { name: 'TestUptoProxy', artifact: 'test-upto-proxy.json' },
]

const check = process.argv.includes('--check')
const compiled = compile()
for (const { name, artifact } of contracts) {
  const path = fileURLToPath(new URL(`../../src/testing/${artifact}`, import.meta.url))
  const text = `${JSON.stringify(compiled[name], null, 1)}\n`
  if (!check) writeFileSync(path, text)
  else if (readFileSync(path, 'utf8') !== text) {
    console.error(
      `src/testing/${artifact} is not what test/chain/${name}.sol compiles to. Run: node test/chain/build.mjs`,
    )
    process.exitCode = 1
  }
}

function compile() {
  const sources = Object.fromEntries(
    contracts.map(({ name }) => [
      `${name}.sol`,
      { content: readFileSync(new URL(`./${name}.sol`, import.meta.url), 'utf8') },
    ]),
  )
  const input = {
    language: 'Solidity',
    sources,
    settings: {
      // viaIR: transferWithAuthorization has more variables than the old code generator can keep on the stack.
      viaIR: true,
      optimizer: { enabled: true, runs: 10_000 },
      evmVersion: 'cancun',
      // No metadata hash: the bytecode then depends on the code alone, not on comments or file names.
      metadata: { bytecodeHash: 'none', appendCBOR: false },
      outputSelection: { '*': { '*': ['abi', 'evm.deployedBytecode.object', 'storageLayout'] } },
    },
  }
  const output = JSON.parse(solc.compile(JSON.stringify(input)))
  const problems = output.errors ?? []
  if (problems.length > 0) {
    throw new Error(problems.map((problem) => problem.formattedMessage).join('\n'))
  }
  return Object.fromEntries(
    contracts.map(({ name }) => {
      const contract = output.contracts[`${name}.sol`][name]
      return [
        name,
        {
          solc: solc.version(),
          sourceSha256: createHash('sha256').update(sources[`${name}.sol`].content).digest('hex'),
          slots: Object.fromEntries(
            contract.storageLayout.storage.map(({ label, slot, offset }) => [
              label,
              { slot: Number(slot), offset },
            ]),
          ),
          deployedBytecode: `0x${contract.evm.deployedBytecode.object}`,
          abi: contract.abi,
        },
      ]
    }),
  )
}
