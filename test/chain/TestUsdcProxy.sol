// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

/// What stands at USDC's address: like Circle's, it has no code of its own but looks up who is in charge and where the
/// token's code is, and runs that on its own storage. So a payment costs here what it costs there, and many in one
/// transaction share these lookups as they do there.
contract TestUsdcProxy {
    // Far away from the token's own slots; the dev chain sets them directly.
    bytes32 private constant ADMIN = keccak256("paystile.test-usdc.admin");
    bytes32 private constant IMPLEMENTATION = keccak256("paystile.test-usdc.implementation");

    fallback() external payable {
        bytes32 adminSlot = ADMIN;
        bytes32 implementationSlot = IMPLEMENTATION;
        assembly {
            // The admin can never be a user: Circle's proxy refuses it too.
            if eq(caller(), sload(adminSlot)) { revert(0, 0) }
            calldatacopy(0, 0, calldatasize())
            let done := delegatecall(gas(), sload(implementationSlot), 0, calldatasize(), 0, 0)
            returndatacopy(0, 0, returndatasize())
            if iszero(done) { revert(0, returndatasize()) }
            return(0, returndatasize())
        }
    }
}
