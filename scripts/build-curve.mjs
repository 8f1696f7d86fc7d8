import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { runChild } from './child.mjs'
import { PrepareError, root, runMain } from './prepare.mjs'

// Makes src/chain/curve.wasm from the library's own source; with --check it only compares. The result is the same,
// byte for byte, wherever this compiler runs. On Debian: apt-get install clang-19 lld-19 wasi-libc
const SOURCE = 'http://deb.debian.org/debian/pool/main/libs/libsecp256k1/libsecp256k1_0.5.0.orig.tar.xz'
const SOURCE_SHA256 = '13b70138be52d7a23bdf0ea39ed79799a30eb855f2ed82c028357f6432cd536b'
const wasm = join(root, 'src/chain/curve.wasm')
const sysroot = process.env.WASI_SYSROOT ?? '/usr'

// WebAssembly multiplies 32 bits by 32 into 64. By default the library uses the compiler's 128-bit numbers, which are
// function calls here and twice as slow. Larger tables (the window) gain 4% and cost a megabyte.
const settings = [
  'USE_FORCE_WIDEMUL_INT64=1',
  'ECMULT_WINDOW_SIZE=10',
  'ECMULT_GEN_PREC_BITS=4',
  'ENABLE_MODULE_RECOVERY=1',
  'USE_EXTERNAL_DEFAULT_CALLBACKS=1',
]

await runMain(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'paystile-curve-'))
  try {
    const library = await unpackSource(folder)
    const sources = [
      join(root, 'scripts/curve.c'),
      ...['precomputed_ecmult.c', 'precomputed_ecmult_gen.c'].map((name) => join(library, 'src', name)),
    ]
    const objects = []
    for (const source of sources) objects.push(await compile(source, library, folder))
    const made = join(folder, 'curve.wasm')
    const libc = join(sysroot, 'lib/wasm32-wasi/libc.a')
    await run(
      'wasm-ld-19',
      '--no-entry',
      '--strip-all',
      '-z',
      'stack-size=65536',
      ...objects,
      libc,
      '-o',
      made,
    )
    const bytes = readFileSync(made)
    if (!process.argv.includes('--check')) writeFileSync(wasm, bytes)
    else if (!readFileSync(wasm).equals(bytes)) throw new PrepareError('src/chain/curve.wasm differs.')
    console.log(`${bytes.length} bytes, sha256 ${sha256(bytes)}`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

async function unpackSource(folder) {
  const response = await fetch(SOURCE)
  if (!response.ok) throw new PrepareError(`${SOURCE} answers ${response.status}.`)
  const archive = Buffer.from(await response.arrayBuffer())
  if (sha256(archive) !== SOURCE_SHA256) throw new PrepareError(`${SOURCE} is not the archive that we know.`)
  const file = join(folder, 'source.tar.xz')
  writeFileSync(file, archive)
  await run('tar', '-xJf', file, '-C', folder)
  return join(folder, 'libsecp256k1-0.5.0')
}

async function compile(source, library, folder) {
  const object = join(folder, `${basename(source)}.o`)
  const includes = [library, join(library, 'include')].map((path) => `-I${path}`)
  const target = ['--target=wasm32-wasi', '-isystem', join(sysroot, 'include/wasm32-wasi')]
  const defines = settings.map((setting) => `-D${setting}`)
  await run('clang-19', ...target, '-O3', '-w', ...defines, ...includes, '-c', source, '-o', object)
  return object
}

async function run(program, ...args) {
  const { code, output } = await runChild(program, args, { capture: true })
  if (code !== 0) throw new PrepareError(`${program} failed:\n${output}`)
}

function sha256(bytes) {
  return createHash('sha256').update(bytes).digest('hex')
}
