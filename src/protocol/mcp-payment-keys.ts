/** x402 over MCP: payments, receipts and terms are in `_meta` of a tool call and its result, under these names. */
export const PAYMENT_KEY = 'x402/payment'
export const RECEIPT_KEY = 'x402/payment-response'
export const TERMS_KEY = 'x402/error'
