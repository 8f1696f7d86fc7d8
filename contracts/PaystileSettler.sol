// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Settles many signed payments (EIP-3009) of one token in one transaction, out of packed calldata.
///
/// It holds nothing, owns nothing, is owned by nobody and stores nothing: there is no storage, no constructor, no
/// payable function, no delegatecall, and no call but `transferWithAuthorization` of the token that the input names. Anyone
/// may call it with anything. What a payer signed says who is paid how much, and the token checks that signature; this
/// contract can neither change nor add a payment, only hand one over.
///
/// The input is the whole calldata, without a selector; numbers are big-endian:
///
///   token      20 bytes
///   groups, at least one, up to the end of the calldata:
///     to       20 bytes   who is paid, by all members of the group
///     count     2 bytes   how many members follow, at least one
///     members, 139 bytes each:
///       from         20
///       value        12
///       validAfter    5
///       validBefore   5
///       nonce        32
///       v             1
///       r, s         32 each
///
/// Input of any other shape reverts before anything is called: cut short, with bytes left over, without a member.
///
/// A member that fails harms no other: its call may revert and the next one is made, nothing that it returns is copied, and
/// it gets an equal share of the gas that is left, so that a payer whose code burns gas burns that share alone. Whether
/// a payment was made is in the logs of the token, as for any other transfer; this contract logs and returns nothing.
///
/// Reentrancy gains nothing. Code of the token or of a payer may call this contract again in the middle of a batch, but it finds
/// no state, no balance and no allowance here that differs from one moment to the next, and no right that it lacks outside: the
/// token treats calls of this contract as it treats those of everybody. Another batch can only use authorizations that anyone
/// could have submitted, and the token lets each be used once.
contract PaystileSettler {
    /// The calldata does not have the shape above.
    error Malformed();

    fallback() external {
        assembly {
            let end := calldatasize()

            // Where the groups end decides whether the input is whole. Beyond the end calldata reads as zeros, so a header that
            // is cut off leads past the end as well.
            let left := 0
            let at := 20
            for {} lt(at, end) {} {
                let count := shr(240, calldataload(add(at, 20)))
                if iszero(count) { at := not(0) break }
                left := add(left, count)
                at := add(at, add(22, mul(count, 139)))
            }
            if or(iszero(eq(at, end)), iszero(left)) {
                mstore(0, 0x07b6ad3f) // Malformed()
                revert(28, 4)
            }

            // The call: transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32), its
            // selector at 28 and an argument in each word from 32 on. All of that is zero before; a field is copied to the end of its
            // word, over the same bytes for every member. Solidity's own memory is overwritten, as it is not used again.
            let token := shr(96, calldataload(0))
            mstore(0, 0xe3ee160e)
            at := 20
            for {} lt(at, end) {} {
                mstore(64, shr(96, calldataload(at)))
                let last := add(at, add(22, mul(shr(240, calldataload(add(at, 20))), 139)))
                for { at := add(at, 22) } lt(at, last) { at := add(at, 139) } {
                    calldatacopy(44, at, 20) // from
                    calldatacopy(116, add(at, 20), 12) // value
                    calldatacopy(155, add(at, 32), 5) // validAfter
                    calldatacopy(187, add(at, 37), 5) // validBefore
                    calldatacopy(192, add(at, 42), 32) // nonce
                    calldatacopy(255, add(at, 74), 65) // v, r, s
                    pop(call(div(gas(), left), token, 0, 28, 292, 0, 0))
                    left := sub(left, 1)
                }
            }
            stop()
        }
    }
}
