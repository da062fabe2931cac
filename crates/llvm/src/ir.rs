//! Functions and variables of a module, as far as inkwell doesn't show them.

mod definition;
pub(crate) mod order;

use std::collections::HashSet;
use std::ffi::{CStr, CString, c_uint};
use std::marker::PhantomData;
use std::{ptr, slice};

use inkwell::llvm_sys::comdat::LLVMSetComdat;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::{LLVMModuleRef, LLVMValueRef};
use inkwell::llvm_sys::{
    LLVMAttributeFunctionIndex, LLVMFastMathApproxFunc, LLVMLinkage, LLVMTypeKind, LLVMVisibility,
};
use inkwell::module::Module;

pub(crate) use definition::{filter_list, has_assembly};

/// A function, variable, alias or ifunc of a module that is borrowed for `'m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Global<'m> {
    value: LLVMValueRef,
    module: PhantomData<&'m ()>,
}

/// All functions, variables, aliases and ifuncs of `module`, in this order and in each kind in the module's.
pub(crate) fn globals<'m>(module: &'m Module<'_>) -> Vec<Global<'m>> {
    type First = unsafe extern "C" fn(LLVMModuleRef) -> LLVMValueRef;
    type Next = unsafe extern "C" fn(LLVMValueRef) -> LLVMValueRef;
    let lists: [(First, Next); 4] = [
        (LLVMGetFirstFunction, LLVMGetNextFunction),
        (LLVMGetFirstGlobal, LLVMGetNextGlobal),
        (LLVMGetFirstGlobalAlias, LLVMGetNextGlobalAlias),
        (LLVMGetFirstGlobalIFunc, LLVMGetNextGlobalIFunc),
    ];
    let mut globals = Vec::new();
    for (first, next) in lists {
        // SAFETY: the module is alive, and nothing is added or removed while the list is walked.
        let mut value = unsafe { first(module.as_mut_ptr()) };
        while !value.is_null() {
            globals.push(Global {
                value,
                module: PhantomData,
            });
            // SAFETY: `value` is an element of the list that belongs to `next`.
            value = unsafe { next(value) };
        }
    }
    globals
}

// SAFETY, for all that follows: `value` is a global of a module that `'m` keeps alive, and no method here or
// elsewhere in this crate removes a global from a module while a `Global` of it exists.
impl<'m> Global<'m> {
    /// The name without any mangling of the target.
    pub(crate) fn name(self) -> &'m [u8] {
        let mut length = 0;
        // SAFETY: see above; the name lives with the global, see [`Global::rename`].
        unsafe {
            let start = LLVMGetValueName2(self.value, &mut length);
            bytes(start.cast(), length)
        }
    }

    pub(crate) fn is_function(self) -> bool {
        // SAFETY: see above.
        unsafe { !LLVMIsAFunction(self.value).is_null() }
    }

    pub(crate) fn is_variable(self) -> bool {
        // SAFETY: see above.
        unsafe { !LLVMIsAGlobalVariable(self.value).is_null() }
    }

    /// Whether there is no body or initialiser.
    pub(crate) fn is_declaration(self) -> bool {
        // SAFETY: see above.
        unsafe { LLVMIsDeclaration(self.value) != 0 }
    }

    pub(crate) fn is_externally_initialized(self) -> bool {
        // SAFETY: see above; the call is for variables only.
        self.is_variable() && unsafe { LLVMIsExternallyInitialized(self.value) != 0 }
    }

    pub(crate) fn linkage(self) -> LLVMLinkage {
        // SAFETY: see above; the enumeration has not grown since LLVM 3.
        unsafe { LLVMGetLinkage(self.value) }
    }

    /// Local linkages reset the visibility, as LLVM asks for.
    pub(crate) fn set_linkage(self, linkage: LLVMLinkage) {
        // SAFETY: see above.
        unsafe { LLVMSetLinkage(self.value, linkage) }
    }

    pub(crate) fn visibility(self) -> LLVMVisibility {
        // SAFETY: see above; the enumeration has always had these three values.
        unsafe { LLVMGetVisibility(self.value) }
    }

    pub(crate) fn set_visibility(self, visibility: LLVMVisibility) {
        // SAFETY: see above.
        unsafe { LLVMSetVisibility(self.value, visibility) }
    }

    /// Takes a function or variable out of its comdat group.
    pub(crate) fn drop_comdat(self) {
        if self.is_function() || self.is_variable() {
            // SAFETY: see above; LLVM takes null as no comdat.
            unsafe { LLVMSetComdat(self.value, ptr::null_mut()) }
        }
    }

    /// The calling convention's number; `None` for all but functions.
    pub(crate) fn calling_convention(self) -> Option<c_uint> {
        // SAFETY: see above; the call is for functions only.
        self.is_function()
            .then(|| unsafe { LLVMGetFunctionCallConv(self.value) })
    }

    /// The address space of a global's own address.
    pub(crate) fn address_space(self) -> c_uint {
        // SAFETY: see above; the type of a global is a pointer.
        unsafe { LLVMGetPointerAddressSpace(LLVMTypeOf(self.value)) }
    }

    /// The string attribute `key` of a function, for example `target-cpu`.
    pub(crate) fn attribute(self, key: &str) -> Option<String> {
        if !self.is_function() {
            return None;
        }
        // SAFETY: see above; the string lives in the context.
        unsafe {
            let attribute = LLVMGetStringAttributeAtIndex(
                self.value,
                LLVMAttributeFunctionIndex,
                key.as_ptr().cast(),
                key.len() as c_uint,
            );
            if attribute.is_null() {
                return None;
            }
            let mut length = 0;
            let start = LLVMGetStringAttributeValue(attribute, &mut length);
            Some(String::from_utf8_lossy(bytes(start.cast(), length as usize)).into_owned())
        }
    }

    /// The keys of all string attributes of a function.
    pub(crate) fn attribute_keys(self) -> Vec<String> {
        if !self.is_function() {
            return Vec::new();
        }
        // SAFETY: see above; the array is as long as LLVM says that it fills it, and the strings live in the
        // context.
        unsafe {
            let index = LLVMAttributeFunctionIndex;
            let count = LLVMGetAttributeCountAtIndex(self.value, index) as usize;
            let mut attributes = vec![ptr::null_mut(); count];
            LLVMGetAttributesAtIndex(self.value, index, attributes.as_mut_ptr());
            let strings = attributes
                .into_iter()
                .filter(|it| LLVMIsStringAttribute(*it) != 0);
            strings
                .map(|attribute| {
                    let mut length = 0;
                    let start = LLVMGetStringAttributeKind(attribute, &mut length);
                    String::from_utf8_lossy(bytes(start.cast(), length as usize)).into_owned()
                })
                .collect()
        }
    }

    /// Sets the string attribute `key` of a function, or takes it away.
    pub(crate) fn set_attribute(self, key: &str, value: Option<&str>) {
        if !self.is_function() {
            return;
        }
        let length = key.len() as c_uint;
        // SAFETY: see above; LLVM copies the strings.
        unsafe {
            LLVMRemoveStringAttributeAtIndex(
                self.value,
                LLVMAttributeFunctionIndex,
                key.as_ptr().cast(),
                length,
            );
            if let Some(value) = value {
                let attribute = LLVMCreateStringAttribute(
                    LLVMGetModuleContext(LLVMGetGlobalParent(self.value)),
                    key.as_ptr().cast(),
                    length,
                    value.as_ptr().cast(),
                    value.len() as c_uint,
                );
                LLVMAddAttributeAtIndex(self.value, LLVMAttributeFunctionIndex, attribute);
            }
        }
    }

    /// Whether this is a function of `arity` numbers of type `scalar` that returns one.
    pub(crate) fn has_signature(self, scalar: Scalar, arity: usize) -> bool {
        if !self.is_function() {
            return false;
        }
        let kind = match scalar {
            Scalar::F32 => LLVMTypeKind::LLVMFloatTypeKind,
            Scalar::F64 => LLVMTypeKind::LLVMDoubleTypeKind,
        };
        // SAFETY: see above; the value type of a function is a function type, and the array is as long as that says.
        unsafe {
            let signature = LLVMGlobalGetValueType(self.value);
            let mut types = vec![ptr::null_mut(); LLVMCountParamTypes(signature) as usize];
            LLVMGetParamTypes(signature, types.as_mut_ptr());
            types.push(LLVMGetReturnType(signature));
            types.len() == arity + 1
                && LLVMIsFunctionVarArg(signature) == 0
                && types.into_iter().all(|one| LLVMGetTypeKind(one) == kind)
        }
    }

    /// Makes the calls of this function calls of `name`, which is declared if need be. Calls that allow an
    /// approximation stay, and so do uses that are no calls.
    pub(crate) fn redirect_calls(self, module: &'m Module<'_>, name: &str) {
        let Ok(name) = CString::new(name) else {
            return;
        };
        let mut calls = Vec::new();
        // SAFETY: see above; each call gets the kind of value that the one before it tested for. The operand list
        // changes after the walk over the uses.
        unsafe {
            let mut one = LLVMGetFirstUse(self.value);
            while !one.is_null() {
                let user = LLVMGetUser(one);
                one = LLVMGetNextUse(one);
                let is_call =
                    !LLVMIsACallInst(user).is_null() && LLVMGetCalledValue(user) == self.value;
                if is_call && LLVMGetFastMathFlags(user) & LLVMFastMathApproxFunc == 0 {
                    calls.push(user);
                }
            }
            if calls.is_empty() {
                return;
            }
            let signature = LLVMGlobalGetValueType(self.value);
            let mut other = LLVMGetNamedFunction(module.as_mut_ptr(), name.as_ptr());
            if other.is_null() {
                other = LLVMAddFunction(module.as_mut_ptr(), name.as_ptr(), signature);
            }
            if LLVMGlobalGetValueType(other) != signature {
                return;
            }
            for call in calls {
                // The function called is the last operand of a call.
                LLVMSetOperand(call, LLVMGetNumOperands(call) as c_uint - 1, other);
            }
        }
    }

    /// The functions and variables that refer to this global, directly or through constants; a global may
    /// come up more than once.
    pub(crate) fn users(self) -> Vec<Global<'m>> {
        let mut users = Vec::new();
        let mut seen = HashSet::from([self.value]);
        let mut open = vec![self.value];
        while let Some(value) = open.pop() {
            // SAFETY: see above; uses and users of a value of the module are of the module, and each call
            // gets the kind of value that the one before it tested for.
            unsafe {
                let mut one = LLVMGetFirstUse(value);
                while !one.is_null() {
                    let user = LLVMGetUser(one);
                    one = LLVMGetNextUse(one);
                    let owner = if !LLVMIsAInstruction(user).is_null() {
                        LLVMGetBasicBlockParent(LLVMGetInstructionParent(user))
                    } else if !LLVMIsAGlobalValue(user).is_null() {
                        user
                    } else {
                        if seen.insert(user) {
                            open.push(user);
                        }
                        continue;
                    };
                    users.push(Global {
                        value: owner,
                        module: PhantomData,
                    });
                }
            }
        }
        users
    }

    /// The globals that the initialiser of a variable refers to, through any constants.
    pub(crate) fn referred_to(self) -> Vec<Global<'m>> {
        let mut globals = Vec::new();
        if !self.is_variable() {
            return globals;
        }
        // SAFETY: see above; a null initialiser is not followed.
        let initialiser = unsafe { LLVMGetInitializer(self.value) };
        let mut seen = HashSet::from([initialiser]);
        let mut open = Vec::from_iter((!initialiser.is_null()).then_some(initialiser));
        while let Some(value) = open.pop() {
            // SAFETY: see above; only users have operands, and the indices are in range. Constants of simple
            // data are no users with operands, which LLVM answers with 0.
            unsafe {
                if !LLVMIsAGlobalValue(value).is_null() {
                    globals.push(Global {
                        value,
                        module: PhantomData,
                    });
                    continue;
                }
                if LLVMIsAUser(value).is_null() {
                    continue;
                }
                for index in 0..LLVMGetNumOperands(value) {
                    let operand = LLVMGetOperand(value, index as c_uint);
                    if !operand.is_null() && seen.insert(operand) {
                        open.push(operand);
                    }
                }
            }
        }
        globals
    }
}

/// What the variables of these names refer to in their initialisers.
pub(crate) fn referred_to_by<'m>(module: &'m Module<'_>, names: &[&[u8]]) -> Vec<Global<'m>> {
    globals(module)
        .into_iter()
        .filter(|global| names.contains(&global.name()))
        .flat_map(Global::referred_to)
        .collect()
}

/// A floating-point type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scalar {
    /// `float`.
    F32,
    /// `double`.
    F64,
}

/// An operand of a metadata node.
pub(crate) enum Operand<'m> {
    /// A function or variable.
    Global(Global<'m>),
    /// A string.
    String(&'m [u8]),
    /// An integer, sign extended.
    Integer(i64),
    /// Nothing, or something of another kind.
    Other,
}

/// The nodes of the named metadata `name`; none where the module lacks it.
pub(crate) fn named_metadata<'m>(module: &'m Module<'_>, name: &CStr) -> Vec<Vec<Operand<'m>>> {
    let module = module.as_mut_ptr();
    // SAFETY: the module is alive for `'m`; each array is as long as LLVM says that it fills it.
    unsafe {
        let mut nodes =
            vec![ptr::null_mut(); LLVMGetNamedMetadataNumOperands(module, name.as_ptr()) as usize];
        LLVMGetNamedMetadataOperands(module, name.as_ptr(), nodes.as_mut_ptr());
        nodes
            .into_iter()
            .map(|node| {
                let mut operands = vec![ptr::null_mut(); LLVMGetMDNodeNumOperands(node) as usize];
                LLVMGetMDNodeOperands(node, operands.as_mut_ptr());
                operands.into_iter().map(|value| operand(value)).collect()
            })
            .collect()
    }
}

/// # Safety
/// `value` is null or an operand of a metadata node in a context that lives for `'m`.
unsafe fn operand<'m>(value: LLVMValueRef) -> Operand<'m> {
    if value.is_null() {
        return Operand::Other;
    }
    let mut length = 0;
    // SAFETY: the value is not null, and each call is for the kind that was tested for.
    unsafe {
        let text = LLVMGetMDString(value, &mut length);
        if !text.is_null() {
            Operand::String(bytes(text.cast(), length as usize))
        } else if !LLVMIsAGlobalValue(value).is_null() {
            Operand::Global(Global {
                value,
                module: PhantomData,
            })
        } else if !LLVMIsAConstantInt(value).is_null() {
            Operand::Integer(LLVMConstIntGetSExtValue(value))
        } else {
            Operand::Other
        }
    }
}

/// # Safety
/// As for `slice::from_raw_parts`, but null is fine where `length` is 0.
unsafe fn bytes<'a>(start: *const u8, length: usize) -> &'a [u8] {
    if length == 0 {
        return &[];
    }
    // SAFETY: the caller vouches for it.
    unsafe { slice::from_raw_parts(start, length) }
}
