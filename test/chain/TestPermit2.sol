// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

interface Token {
    function transferFrom(address from, address to, uint256 value) external returns (bool);
}

interface Wallet {
    function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4);
}

/// Transfers by signature, behind the interface of the Permit2 that lives at
/// 0x000000000022D473030F116dDEE9F6B43aC78BA3 on every public chain: the part of it that moves tokens by a
/// witnessed signature, with its checks in their order and its reverts.
contract TestPermit2 {
    struct TokenPermissions {
        address token;
        uint256 amount;
    }

    struct PermitTransferFrom {
        TokenPermissions permitted;
        uint256 nonce;
        uint256 deadline;
    }

    struct SignatureTransferDetails {
        address to;
        uint256 requestedAmount;
    }

    error SignatureExpired(uint256 signatureDeadline);
    error InvalidAmount(uint256 maxAmount);
    error InvalidNonce();
    error InvalidSignatureLength();
    error InvalidSignature();
    error InvalidSigner();
    error InvalidContractSignature();

    event UnorderedNonceInvalidation(address indexed owner, uint256 word, uint256 mask);

    /// A set bit is a nonce that was used or given up: word `nonce >> 8`, bit `nonce & 255`.
    mapping(address => mapping(uint256 => uint256)) public nonceBitmap;

    bytes32 private constant DOMAIN_TYPE =
        keccak256("EIP712Domain(string name,uint256 chainId,address verifyingContract)");
    bytes32 private constant PERMISSIONS_TYPE = keccak256("TokenPermissions(address token,uint256 amount)");
    string private constant WITNESSED_TYPE =
        "PermitWitnessTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline,";
    bytes4 private constant ACCEPTED = 0x1626ba7e;

    function DOMAIN_SEPARATOR() public view returns (bytes32) {
        return keccak256(abi.encode(DOMAIN_TYPE, keccak256("Permit2"), block.chainid, address(this)));
    }

    /// The owner gives up all nonces of a word whose bits are set in the mask.
    function invalidateUnorderedNonces(uint256 wordPos, uint256 mask) external {
        nonceBitmap[msg.sender][wordPos] |= mask;
        emit UnorderedNonceInvalidation(msg.sender, wordPos, mask);
    }

    function permitWitnessTransferFrom(
        PermitTransferFrom memory permit,
        SignatureTransferDetails calldata transferDetails,
        address owner,
        bytes32 witness,
        string calldata witnessTypeString,
        bytes calldata signature
    ) external {
        if (block.timestamp > permit.deadline) revert SignatureExpired(permit.deadline);
        if (transferDetails.requestedAmount > permit.permitted.amount) {
            revert InvalidAmount(permit.permitted.amount);
        }
        useNonce(owner, permit.nonce);
        bytes32 message = keccak256(
            abi.encode(
                keccak256(abi.encodePacked(WITNESSED_TYPE, witnessTypeString)),
                keccak256(abi.encode(PERMISSIONS_TYPE, permit.permitted.token, permit.permitted.amount)),
                msg.sender,
                permit.nonce,
                permit.deadline,
                witness
            )
        );
        checkSignature(owner, keccak256(abi.encodePacked("\x19\x01", DOMAIN_SEPARATOR(), message)), signature);
        move(permit.permitted.token, owner, transferDetails.to, transferDetails.requestedAmount);
    }

    function useNonce(address owner, uint256 nonce) private {
        uint256 bit = 1 << (nonce & 255);
        uint256 word = nonceBitmap[owner][nonce >> 8];
        if (word & bit != 0) revert InvalidNonce();
        nonceBitmap[owner][nonce >> 8] = word | bit;
    }

    function checkSignature(address owner, bytes32 digest, bytes calldata signature) private view {
        if (owner.code.length > 0) {
            if (Wallet(owner).isValidSignature(digest, signature) != ACCEPTED) revert InvalidContractSignature();
            return;
        }
        bytes32 r;
        bytes32 s;
        uint8 v;
        if (signature.length == 65) {
            (r, s, v) = (bytes32(signature[0:32]), bytes32(signature[32:64]), uint8(signature[64]));
        } else if (signature.length == 64) {
            // EIP-2098: the highest bit of s says which of two keys it is.
            uint256 vs = uint256(bytes32(signature[32:64]));
            (r, s, v) = (bytes32(signature[0:32]), bytes32(vs & (type(uint256).max >> 1)), uint8((vs >> 255) + 27));
        } else {
            revert InvalidSignatureLength();
        }
        address signer = ecrecover(digest, v, r, s);
        if (signer == address(0)) revert InvalidSignature();
        if (signer != owner) revert InvalidSigner();
    }

    /// Every failure of the token looks the same.
    function move(address token, address from, address to, uint256 value) private {
        (bool done, bytes memory answer) = token.call(abi.encodeCall(Token.transferFrom, (from, to, value)));
        require(
            done && (answer.length == 0 ? token.code.length > 0 : abi.decode(answer, (bool))), "TRANSFER_FROM_FAILED"
        );
    }
}
