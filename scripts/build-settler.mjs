// Compiles contracts/PaystileSettler.sol.
//   node scripts/build-settler.mjs          write src/chain/settler.json and contracts/settler-input.json
//   node scripts/build-settler.mjs --check  exit 1, naming the file, if one of them is not what the source compiles to
// Its address follows from the code: a change of source or settings is another contract, which every seller has to deploy.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import solc from 'solc'
import { getContractAddress } from 'viem'

const NAME = 'PaystileSettler'
const FILE = `contracts/${NAME}.sol`
/** The deterministic deployment proxy, which is at this address on every chain: salt, then init code. */
const DEPLOYER = '0x4e59b44847b379578588920ca78fbf26c0b4956c'
const SALT = `0x${'0'.repeat(64)}`

const root = new URL('../', import.meta.url)
/** As explorers take it to verify a contract ("standard JSON input"). */
const input = {
  language: 'Solidity',
  sources: { [FILE]: { content: readFileSync(new URL(FILE, root), 'utf8') } },
  settings: {
    viaIR: true,
    optimizer: { enabled: true, runs: 10_000 },
    // Older than any of the networks' own, so that the same code runs on all of them.
    evmVersion: 'paris',
    // No metadata: the code then depends on the source's instructions alone, and not on comments or file names.
    metadata: { bytecodeHash: 'none', appendCBOR: false },
    outputSelection: { '*': { '*': ['evm.bytecode.object', 'evm.deployedBytecode.object'] } },
  },
}
const output = JSON.parse(solc.compile(JSON.stringify(input)))
if (output.errors?.length > 0)
  throw new Error(output.errors.map(({ formattedMessage }) => formattedMessage).join('\n'))
const { evm } = output.contracts[FILE][NAME]
const initCode = `0x${evm.bytecode.object}`
const address = getContractAddress({ opcode: 'CREATE2', from: DEPLOYER, salt: SALT, bytecode: initCode })
const artifact = {
  solc: solc.version().replace(/\.Emscripten.*/, ''),
  deployer: DEPLOYER,
  salt: SALT,
  address: address.toLowerCase(),
  initCode,
  deployedCode: `0x${evm.deployedBytecode.object}`,
}

const check = process.argv.includes('--check')
for (const [file, value] of [
  ['src/chain/settler.json', artifact],
  ['contracts/settler-input.json', input],
]) {
  const path = fileURLToPath(new URL(file, root))
  const text = `${JSON.stringify(value, null, 2)}\n`
  if (!check) writeFileSync(path, text)
  else if (readFileSync(path, 'utf8') !== text) {
    console.error(`${file} is not what ${FILE} compiles to. Run: node scripts/build-settler.mjs`)
    process.exitCode = 1
  }
}
