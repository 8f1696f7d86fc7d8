/* What src/chain/curve.ts calls: libsecp256k1 behind one buffer, without allocation and without imports. */
#include <stddef.h>
#include "src/secp256k1.c"

/* The digest (32 bytes), the signature (r and s, 64), the private key (32), the public key (x and y, behind a 4: 65). */
static unsigned char buffer[32 + 64 + 32 + 65];
static unsigned char *const digest = buffer;
static unsigned char *const signature = buffer + 32;
static unsigned char *const private_key = buffer + 96;
static unsigned char *const public_key = buffer + 128;

static _Alignas(16) unsigned char context_memory[512];
static secp256k1_context *context;

__attribute__((export_name("open"))) unsigned char *open(void) {
  if (secp256k1_context_preallocated_size(SECP256K1_CONTEXT_NONE) > sizeof context_memory) __builtin_trap();
  context = secp256k1_context_preallocated_create(context_memory, SECP256K1_CONTEXT_NONE);
  return buffer;
}

/* 1: the public key is in the buffer; 0: nobody can have made this signature. */
__attribute__((export_name("recover"))) int recover(int recovery_id) {
  secp256k1_ecdsa_recoverable_signature parsed;
  secp256k1_pubkey key;
  size_t length = 65;
  return secp256k1_ecdsa_recoverable_signature_parse_compact(context, &parsed, signature, recovery_id) &&
         secp256k1_ecdsa_recover(context, &key, &parsed, digest) &&
         secp256k1_ec_pubkey_serialize(context, public_key, &length, &key, SECP256K1_EC_UNCOMPRESSED);
}

/* The recovery id; the signature is in the buffer, deterministic (RFC 6979) and with the low s. -1: no private key. */
__attribute__((export_name("sign"))) int sign(void) {
  secp256k1_ecdsa_recoverable_signature made;
  int recovery_id;
  if (!secp256k1_ecdsa_sign_recoverable(context, &made, digest, private_key, NULL, NULL)) return -1;
  secp256k1_ecdsa_recoverable_signature_serialize_compact(context, signature, &recovery_id, &made);
  return recovery_id;
}

/* A call that breaks the library's own rules, or a fault of the machine: JavaScript sees an exception. */
void secp256k1_default_illegal_callback_fn(const char *message, void *data) { __builtin_trap(); }
void secp256k1_default_error_callback_fn(const char *message, void *data) { __builtin_trap(); }
