// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

/// A smart-contract wallet (EIP-1271) with one owner key that can be told to misbehave.
/// Placed by anvil_setCode; the dev chain writes `owner` and `mode` into their slots.
contract TestWallet1271 {
    enum Mode {
        Honest, // accepts what the owner signed
        Refuses, // accepts nothing
        RefusesOnChain, // accepts in eth_call, refuses in a transaction: a simulation proves nothing
        BurnsGas, // consumes all gas that it is given
        BurnsLater // accepts up to the block `agreesUntil`, and consumes all gas after it
    }

    address public owner;
    Mode public mode;
    uint256 public agreesUntil;

    bytes4 private constant ACCEPTED = 0x1626ba7e;
    bytes4 private constant REFUSED = 0xffffffff;

    function setMode(Mode next) external {
        mode = next;
        agreesUntil = block.number;
    }

    function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4) {
        if (mode == Mode.BurnsGas || (mode == Mode.BurnsLater && block.number > agreesUntil)) {
            // invalid() takes all forwarded gas at once; a loop would take the test machine's time as well.
            assembly {
                invalid()
            }
        }
        if (mode == Mode.Refuses) return REFUSED;
        // A call without fee fields has gas price zero; a mined transaction never has.
        if (mode == Mode.RefusesOnChain && tx.gasprice > 0) return REFUSED;
        if (signature.length != 65) return REFUSED;
        address signer = ecrecover(
            digest, uint8(signature[64]), bytes32(signature[0:32]), bytes32(signature[32:64])
        );
        return signer != address(0) && signer == owner ? ACCEPTED : REFUSED;
    }

    receive() external payable {}
}
